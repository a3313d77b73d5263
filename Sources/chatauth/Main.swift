import CStart
import ChatAuthCLI
import Glibc

/// The command line tool: everything it does is in ChatAuthCLI.
@main
struct Main {
    static func main() {
        exit(Tool.run(Surroundings(arguments: cs_arguments(), environment: cs_environment())))
    }
}
