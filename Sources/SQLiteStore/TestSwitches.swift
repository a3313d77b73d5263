/// Ways to break the store on purpose, so that a campaign that looks for lost writes can show that it would see them.
///
/// A power-cut campaign must fail with `CHATAUTH_TEST_SYNC_OFF`, a kill campaign with `CHATAUTH_TEST_EARLY_ACK`. Both are set when
/// the program is compiled, never when it runs, and no package is built with them.
enum TestSwitches {
    #if CHATAUTH_TEST_SYNC_OFF
        static let synchronous: StaticString = "PRAGMA synchronous = OFF"
    #else
        static let synchronous: StaticString = "PRAGMA synchronous = EXTRA"
    #endif

    #if CHATAUTH_TEST_EARLY_ACK
        static let acknowledgesBeforeCommit = true
    #else
        static let acknowledgesBeforeCommit = false
    #endif
}
