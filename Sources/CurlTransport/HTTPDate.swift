package import CredentialCore

/// A date as HTTP writes it (RFC 9110 §5.6.7): the one form that is sent today, and the two that must still be read.
///
///     Sun, 06 Nov 1994 08:49:37 GMT
///     Sunday, 06-Nov-94 08:49:37 GMT
///     Sun Nov  6 08:49:37 1994
///
/// In all three the day stands before the year, so that the words say what they are and their order need not.
package enum HTTPDate {
    /// The moment that `text` names; `now` decides the century of a year of two digits.
    ///
    /// - Returns: nil for anything that is not a date in one of the three forms, the day of the week aside.
    package static func parse(_ text: String, now: WallTime) -> WallTime? {
        guard text.utf8.count <= 64 else { return nil }
        var month: Int64?
        var time: Int64?
        var numbers: [(value: Int64, digits: Int)] = []
        for word in text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }) {
            if let number = number(word) {
                numbers.append((number, word.utf8.count))
            } else if word.contains(":") {
                guard time == nil, let seconds = secondsOfDay(word) else { return nil }
                time = seconds
            } else if let index = months.firstIndex(of: word.lowercased()) {
                guard month == nil else { return nil }
                month = Int64(index) + 1
            } else if word != "GMT", word != "UTC", !isWeekday(word) {
                return nil
            }
        }
        guard let month, let time, numbers.count == 2, numbers[0].digits <= 2 else { return nil }
        let day = numbers[0].value
        guard let year = year(numbers[1], now: now), year >= 1970, day >= 1,
            day <= RFC3339.daysIn(month, of: year)
        else {
            return nil
        }
        return WallTime(seconds: RFC3339.daysSinceEpoch(year, month, day) * 86_400 + time)
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let weekdays = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    private static func isWeekday(_ word: Substring) -> Bool {
        let word = word.lowercased()
        return word.utf8.count >= 3 && weekdays.contains { $0 == word || $0.prefix(3) == word }
    }

    private static func number(_ word: Substring) -> Int64? {
        guard (1...4).contains(word.utf8.count), word.utf8.allSatisfy({ $0 &- 48 < 10 }) else { return nil }
        return Int64(word)
    }

    private static func secondsOfDay(_ word: Substring) -> Int64? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.utf8.count == 2 }), let hour = number(parts[0]),
            let minute = number(parts[1]), let second = number(parts[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    // A year of two digits that seems to be more than 50 years ahead is the last such year behind (RFC 9110 §5.6.7).
    private static func year(_ number: (value: Int64, digits: Int), now: WallTime) -> Int64? {
        if number.digits == 4 { return number.value }
        guard number.digits == 2 else { return nil }
        let thisYear = 1970 + now.seconds / 31_556_952
        let year = thisYear / 100 * 100 + number.value
        return year > thisYear + 50 ? year - 100 : year
    }
}
