/// Dates as HTTP and RFC 3339 write them, for every second that an Int64 of milliseconds near today can mean.
enum CalendarText {
    /// IMF-fixdate (RFC 9110 §5.6.7) of Unix milliseconds, rounded down to the second.
    static func httpDate(_ milliseconds: Int64) -> String {
        let moment = Moment(milliseconds)
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let date = "\(padded(moment.day, 2)) \(months[moment.month - 1]) \(padded(moment.year, 4))"
        return "\(days[moment.weekday]), \(date) \(time(moment)) GMT"
    }

    /// RFC 3339 text in UTC of Unix milliseconds, with milliseconds.
    static func rfc3339(_ milliseconds: Int64) -> String {
        let moment = Moment(milliseconds)
        let date = "\(padded(moment.year, 4))-\(padded(moment.month, 2))-\(padded(moment.day, 2))"
        return "\(date)T\(time(moment)).\(padded(moment.millisecond, 3))Z"
    }

    private static func time(_ moment: Moment) -> String {
        "\(padded(moment.hour, 2)):\(padded(moment.minute, 2)):\(padded(moment.second, 2))"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// A civil date of the proleptic Gregorian calendar, in UTC.
    private struct Moment {
        let year, month, day, hour, minute, second, millisecond: Int
        /// Days since Thursday, the day of the epoch.
        let weekday: Int

        init(_ milliseconds: Int64) {
            let day = Self.floor(Int(milliseconds), 86_400_000)
            millisecond = day.rest % 1000
            second = day.rest / 1000 % 60
            minute = day.rest / 60_000 % 60
            hour = day.rest / 3_600_000
            weekday = Self.floor(day.quotient, 7).rest
            // Years that begin in March put the leap day last, so that a month's first day is a linear formula; 719,468 days
            // lie between 0000-03-01 and the epoch, and 146,097 in each cycle of 400 years.
            let cycle = Self.floor(day.quotient + 719_468, 146_097)
            let yearOfCycle =
                (cycle.rest - cycle.rest / 1460 + cycle.rest / 36_524 - cycle.rest / 146_096) / 365
            let dayOfYear = cycle.rest - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
            let monthFromMarch = (5 * dayOfYear + 2) / 153
            self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
            month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
            year = cycle.quotient * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
        }

        private static func floor(_ number: Int, _ divisor: Int) -> (quotient: Int, rest: Int) {
            let rest = ((number % divisor) + divisor) % divisor
            return ((number - rest) / divisor, rest)
        }
    }
}
