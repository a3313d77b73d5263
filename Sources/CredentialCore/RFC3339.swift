/// Internet date and time (RFC 3339 §5.6), without a calendar library: the proleptic Gregorian calendar, UTC out.
package enum RFC3339 {
    /// Reads `YYYY-MM-DDThh:mm:ss[.fff](Z|±hh:mm)`; nil for anything else, 24:00 and days that a month does not have.
    ///
    /// A leap second counts as the second before it, fractions are floored.
    package static func parse(_ text: String) -> WallTime? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] | 0x20 == UInt8(ascii: "t"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
            let second = number(bytes[17..<19]),
            (1...12).contains(month), day >= 1, day <= daysIn(month, of: year), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            let digits = rest.prefix { $0 &- 48 < 10 }
            guard !digits.isEmpty else { return nil }
            rest = rest.dropFirst(digits.count)
        }
        guard let offset = zone(rest) else { return nil }
        let days = daysSinceEpoch(year, month, day)
        return WallTime(seconds: days * 86_400 + hour * 3600 + minute * 60 + min(second, 59) - offset)
    }

    /// Writes `YYYY-MM-DDThh:mm:ssZ`; nil outside the years 0 to 9999.
    package static func text(_ moment: WallTime) -> String? {
        let seconds = moment.seconds
        guard (-62_167_219_200...253_402_300_799).contains(seconds) else { return nil }
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let rest = seconds - days * 86_400
        let (year, month, day) = date(daysSinceEpoch: days)
        return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T" + padded(rest / 3600, 2)
            + ":"
            + padded(rest / 60 % 60, 2) + ":" + padded(rest % 60, 2) + "Z"
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            guard digit &- 48 < 10 else { return nil }
            value = value * 10 + Int64(digit - 48)
        }
        return value
    }

    private static func zone(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard let sign = bytes.first else { return nil }
        if sign | 0x20 == UInt8(ascii: "z") { return bytes.count == 1 ? 0 : nil }
        let at = bytes.startIndex
        guard bytes.count == 6, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            bytes[at + 3] == UInt8(ascii: ":"), let hours = number(bytes[(at + 1)..<(at + 3)]),
            let minutes = number(bytes[(at + 4)..<(at + 6)]), hours < 24, minutes < 60
        else { return nil }
        let seconds = hours * 3600 + minutes * 60
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }

    /// How many days a month has; `month` counts from 1.
    package static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 to a day of the proleptic Gregorian calendar; negative before.
    // Years begin in March here, so that the leap day is the last one of a year, and 400 years are one cycle of 146,097 days.
    package static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let cycle = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfCycle = shifted - cycle * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return cycle * 146_097 + yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear - 719_468
    }

    private static func date(daysSinceEpoch days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let cycle = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfCycle = shifted - cycle * 146_097
        let yearOfCycle =
            (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
