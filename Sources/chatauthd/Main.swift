import ChatAuthAPI
import Configuration
import CredentialCore
import Glibc
import LocalSocket
import Log
import SystemdSupport

@main
struct Main {
    static func main() {
        guard Process.harden() else {
            Process.complain(
                "chatauthd: this process cannot be kept from being dumped, so it does not start\n")
            exit(1)
        }
        let arguments: Arguments
        do throws(Arguments.Failure) {
            arguments = try Arguments(
                Array(CommandLine.arguments.dropFirst()), environment: Process.environment)
        } catch {
            Process.complain("chatauthd: \(error.message)\n")
            exit(2)
        }
        if arguments.showsHelp {
            Process.print(Arguments.help)
            exit(0)
        }
        if arguments.showsVersion {
            Process.print("chatauthd \(Version.text)\n")
            exit(0)
        }
        exit(start(arguments))
    }

    private static func start(_ arguments: Arguments) -> Int32 {
        if let objection = UserNamespace.objection(isSystem: arguments.isSystem, uid: geteuid()) {
            Process.complain("chatauthd: \(objection)\n")
            return 1
        }
        let places: Places
        do throws(Arguments.Failure) {
            places = try Places(arguments, environment: Process.environment)
        } catch {
            Process.complain("chatauthd: \(error.message)\n")
            return 2
        }
        places.makeDirectories()
        let configuration: Configuration
        switch ConfigurationRequest(arguments: arguments, places: places).read() {
        case .success(let read): configuration = read
        case .failure(let failure):
            for fault in failure.faults { Process.complain("chatauthd: \(fault.line)\n") }
            return 1
        }
        do {
            // It changes the environment, so it comes before any thread.
            let sockets = try ActivatedSockets.take()
            let sink = try QueuedSink(
                JournalSink.suitable(journalStream: Process.environment("JOURNAL_STREAM")))
            let daemon = try Daemon(
                arguments: arguments, places: places, configuration: configuration,
                sink: sink,
                serviceManager: ServiceManager(notifySocket: Process.environment("NOTIFY_SOCKET")),
                watchdogMicroseconds: Pulse.watchdog(
                    microseconds: Process.environment("WATCHDOG_USEC"),
                    pid: Process.environment("WATCHDOG_PID"), own: getpid()),
                sockets: sockets,
                credentialsDirectory: Process.environment("CREDENTIALS_DIRECTORY"))
            let code = try daemon.run()
            // Not by letting go of all that there is: a thread that waits for a disk would be waited for.
            sink.close(waitingMilliseconds: 1000)
            withExtendedLifetime(daemon) { exit(code) }
        } catch let failure as Daemon.Failure {
            Process.complain("chatauthd: \(failure.message)\n")
        } catch {
            Process.complain("chatauthd: could not start: \(error)\n")
        }
        return 1
    }
}
