// swift-tools-version: 6.2
import PackageDescription

// Every module: Swift 6, warnings are errors, imports say who sees them.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// Modules that decide and never touch memory or the system: an unsafe construct does not compile there.
let pure: [SwiftSetting] = strict + [.strictMemorySafety()]

// `JSON` and `JSONRPC` hand out views that cannot outlive the bytes they look at.
let lifetimes: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

let cStrict: [CSetting] = [.unsafeFlags(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])]

// The command line must start as fast as a C program does: one static file, nothing unused in it.
let staticExecutable: [LinkerSetting] = [
    .unsafeFlags(
        ["-static-executable", "-Xlinker", "--gc-sections", "-Xlinker", "-s"], .when(configuration: .release))
]

// What stays, or is copied to another machine, brings Swift along and maps nothing that it never uses. Only the link is static:
// modules are compiled alike for programs and tests, once.
let smallExecutable: [LinkerSetting] = [
    .unsafeFlags(
        ["-static-stdlib", "-Xlinker", "--gc-sections", "-Xlinker", "-s"], .when(configuration: .release))
]

let package = Package(
    name: "chatauth",
    products: [
        .executable(name: "chatauthd", targets: ["chatauthd"]),
        .executable(name: "chatauth-fetch", targets: ["chatauth-fetch"]),
        .executable(name: "chatauth", targets: ["chatauth"]),
        .executable(name: "chatauth-sandbox", targets: ["chatauth-sandbox"]),
        .library(name: "ChatAuthClient", targets: ["ChatAuthClient"]),
    ],
    targets: [
        // System libraries, each behind its own name.
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .target(name: "CLinux", cSettings: cStrict),
        // Made with libssl-dev's headers, linked with nothing: it loads libcrypto itself, when a key is first used.
        .target(name: "COpenSSL", cSettings: cStrict),
        .systemLibrary(
            name: "CCurlLibrary", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CCurl", dependencies: ["CCurlLibrary"], cSettings: cStrict),
        .systemLibrary(
            name: "CMicrohttpdLibrary", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(
            name: "CMicrohttpd", dependencies: ["CMicrohttpdLibrary"], cSettings: cStrict,
            linkerSettings: [.linkedLibrary("gnutls")]),
        .target(
            name: "CToml",
            cxxSettings: [.unsafeFlags(["-std=c++17", "-fno-exceptions", "-Wall", "-Wextra", "-Werror"])]),

        // Layer 0: foundations.
        .target(name: "Secrets", dependencies: ["CLinux"], swiftSettings: strict),
        .target(name: "JSON", dependencies: ["Secrets"], swiftSettings: strict + lifetimes),
        .target(name: "Log", swiftSettings: pure),

        // Layer 1: what is true, without I/O.
        .target(name: "CredentialCore", dependencies: ["JSON", "Secrets"], swiftSettings: pure),
        .target(name: "JSONRPC", dependencies: ["JSON", "Secrets"], swiftSettings: pure + lifetimes),
        .target(name: "ChatAuthAPI", dependencies: ["JSONRPC", "JSON", "Secrets"], swiftSettings: pure),
        .target(
            name: "OAuth", dependencies: ["CredentialCore", "JSON", "Secrets"],
            swiftSettings: pure + lifetimes),
        .target(
            name: "JOSE", dependencies: ["CredentialCore", "JSON", "Secrets", "COpenSSL"],
            swiftSettings: strict + lifetimes),
        .target(
            name: "Providers", dependencies: ["CredentialCore", "JSON", "Secrets"],
            swiftSettings: pure + lifetimes),
        .target(
            name: "Configuration", dependencies: ["CredentialCore", "CToml", "Log"], swiftSettings: strict),

        // Layer 2: what happens.
        .target(
            name: "Broker", dependencies: ["CredentialCore", "OAuth", "Providers", "Secrets", "JSON", "Log"],
            swiftSettings: pure),

        // Layer 3: the world.
        .target(name: "EventLoop", dependencies: ["CSystemd", "CLinux", "Secrets"], swiftSettings: strict),
        .target(
            name: "LocalSocket", dependencies: ["EventLoop", "CredentialCore", "Secrets", "Log", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "RPCServer",
            dependencies: [
                "EventLoop", "JSONRPC", "JSON", "Secrets", "ChatAuthAPI", "Broker", "CredentialCore",
                "Log", "Providers",
            ],
            swiftSettings: pure + lifetimes),
        .target(
            name: "SQLiteStore",
            dependencies: [
                "CredentialCore", "EventLoop", "Secrets", "JSON", "Log", "CSQLite", "CSodium", "CLinux",
            ],
            swiftSettings: strict),
        .target(
            name: "AuditLog",
            dependencies: ["CredentialCore", "EventLoop", "Log", "Secrets", "CSodium", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "WorkerProtocol",
            dependencies: ["CredentialCore", "JSONRPC", "JSON", "Secrets", "EventLoop", "Log", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "CurlTransport",
            dependencies: ["WorkerProtocol", "CredentialCore", "EventLoop", "Secrets", "CCurl", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "LocalFiles", dependencies: ["CredentialCore", "EventLoop", "Secrets", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "Signing", dependencies: ["CredentialCore", "EventLoop", "JOSE", "Secrets"],
            swiftSettings: strict),
        .target(
            name: "SystemdSupport", dependencies: ["EventLoop", "Log", "CSystemd", "CLinux"],
            swiftSettings: strict),

        // Layer 4: programs.
        .executableTarget(
            name: "chatauthd",
            dependencies: [
                "AuditLog", "Broker", "ChatAuthAPI", "Configuration", "CredentialCore", "EventLoop",
                "LocalSocket",
                "LocalFiles", "Log", "Providers", "RPCServer", "SQLiteStore", "Secrets", "Signing",
                "SystemdSupport",
                "WorkerProtocol", "CLinux",
            ],
            swiftSettings: strict, linkerSettings: smallExecutable),
        .executableTarget(
            name: "chatauth-fetch",
            dependencies: [
                "ChatAuthAPI", "CurlTransport", "CredentialCore", "EventLoop", "SystemdSupport",
                "WorkerProtocol",
                "CLinux",
            ],
            swiftSettings: strict, linkerSettings: smallExecutable),
        .target(
            name: "ChatAuthCLI", dependencies: ["ChatAuthAPI", "JSONRPC", "JSON", "Secrets", "CLinux"],
            swiftSettings: strict + lifetimes),
        .target(
            name: "ChatAuthClient", dependencies: ["JSONRPC", "JSON", "Secrets", "CLinux"],
            swiftSettings: strict + lifetimes),
        .executableTarget(
            name: "chatauth-example", dependencies: ["ChatAuthClient"], path: "docs/examples/swift",
            swiftSettings: strict),
        .target(name: "CStart", cSettings: cStrict),
        .executableTarget(
            name: "chatauth", dependencies: ["ChatAuthCLI", "CStart"], swiftSettings: strict,
            linkerSettings: staticExecutable),
        .target(
            name: "Sandbox", dependencies: ["CredentialCore", "JOSE", "JSON", "Secrets", "CMicrohttpd"],
            swiftSettings: strict + lifetimes),
        .executableTarget(
            name: "chatauth-sandbox", dependencies: ["ChatAuthAPI", "Sandbox"], swiftSettings: strict,
            linkerSettings: smallExecutable),

        // Tests. Those that run a program do not depend on it: it is built with everything, and its static link would be theirs.
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
        .target(
            name: "FuzzProperties",
            dependencies: ["Configuration", "CredentialCore", "JSON", "JSONRPC", "Secrets"],
            path: "Fuzz/FuzzProperties",
            swiftSettings: strict + lifetimes),
        .target(
            name: "AdapterProperties",
            dependencies: [
                "CredentialCore", "JOSE", "JSON", "JSONRPC", "OAuth", "Providers", "SQLiteStore", "Secrets",
                "WorkerProtocol",
            ],
            path: "Fuzz/AdapterProperties",
            swiftSettings: strict + lifetimes),
        .testTarget(
            name: "AdapterPropertiesTests",
            dependencies: ["AdapterProperties", "CredentialCore", "SQLiteStore", "TestSupport"],
            swiftSettings: strict),
        .target(
            name: "OriginSupport",
            dependencies: [
                "WorkerProtocol", "CredentialCore", "EventLoop", "JSON", "Log", "Secrets", "CLinux",
            ],
            path: "Tests/OriginSupport", exclude: ["origin.py", "liar.py"], swiftSettings: strict),
        .testTarget(
            name: "WorkerProtocolTests",
            dependencies: [
                "WorkerProtocol", "OriginSupport", "CredentialCore", "EventLoop", "JSON", "JSONRPC", "Log",
                "Secrets", "TestSupport",
            ], swiftSettings: strict + lifetimes),
        .testTarget(
            name: "CurlTransportTests",
            dependencies: [
                "CurlTransport", "WorkerProtocol", "OriginSupport", "CredentialCore", "Secrets",
            ], swiftSettings: strict),
        .testTarget(
            name: "LocalFilesTests",
            dependencies: ["LocalFiles", "OriginSupport", "CredentialCore", "EventLoop", "Secrets"],
            swiftSettings: strict),
        .testTarget(
            name: "ChatAuthCLITests", dependencies: ["ChatAuthCLI", "ChatAuthAPI", "CLinux"],
            swiftSettings: strict),
        .testTarget(
            name: "CredentialCoreTests", dependencies: ["CredentialCore", "JSON", "Secrets", "TestSupport"],
            swiftSettings: strict),
        .testTarget(name: "SecretsTests", dependencies: ["Secrets", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "JSONTests", dependencies: ["JSON", "Secrets", "FuzzProperties", "TestSupport"],
            swiftSettings: strict + lifetimes),
        .testTarget(
            name: "JSONRPCTests",
            dependencies: ["JSONRPC", "JSON", "Secrets", "FuzzProperties", "TestSupport"],
            swiftSettings: strict + lifetimes),
        .testTarget(
            name: "JOSETests", dependencies: ["JOSE", "CredentialCore", "JSON", "Secrets", "TestSupport"],
            swiftSettings: strict + lifetimes),
        .testTarget(
            name: "SigningTests",
            dependencies: ["Signing", "CredentialCore", "EventLoop", "JOSE", "Secrets", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ConfigurationTests",
            dependencies: ["Configuration", "CredentialCore", "FuzzProperties", "Log", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "AuditLogTests",
            dependencies: ["AuditLog", "CredentialCore", "EventLoop", "Log", "Secrets"],
            swiftSettings: strict),
        .testTarget(
            name: "SystemdSupportTests", dependencies: ["SystemdSupport", "EventLoop", "Log"],
            swiftSettings: strict),
        .target(
            name: "BrokerSupport",
            dependencies: [
                "Broker", "CredentialCore", "EventLoop", "JOSE", "JSON", "Log", "RPCServer", "Secrets",
                "TestSupport",
            ],
            path: "Tests/BrokerSupport", swiftSettings: strict + lifetimes),
        .testTarget(
            name: "BrokerTests",
            dependencies: [
                "Broker", "BrokerSupport", "CredentialCore", "RPCServer", "Secrets", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RPCServerTests",
            dependencies: [
                "Broker", "BrokerSupport", "ChatAuthAPI", "CredentialCore", "JSON", "Log", "RPCServer",
                "Secrets", "TestSupport",
            ],
            swiftSettings: strict + lifetimes),
        .testTarget(
            name: "OAuthTests", dependencies: ["OAuth", "CredentialCore", "JSON", "Secrets", "TestSupport"],
            swiftSettings: strict + lifetimes),
        .testTarget(
            name: "ProvidersTests",
            dependencies: ["Providers", "CredentialCore", "JSON", "Secrets", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "LocalSocketTests",
            dependencies: [
                "LocalSocket", "BrokerSupport", "CredentialCore", "EventLoop", "Log", "TestSupport", "CLinux",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EventLoopTests", dependencies: ["EventLoop", "CLinux"], swiftSettings: strict),
        .testTarget(
            name: "SandboxTests",
            dependencies: ["ChatAuthAPI", "CredentialCore", "JOSE", "JSON", "Secrets"],
            swiftSettings: strict + lifetimes),
        .testTarget(
            name: "SQLiteStoreTests",
            dependencies: [
                "SQLiteStore", "CredentialCore", "EventLoop", "JSON", "Secrets", "TestSupport", "CLinux",
                "CSQLite",
            ],
            swiftSettings: strict + lifetimes),
    ]
)

// Nothing here uses tasks or regular expressions: their libraries, and what they bring along, stay out of the programs.
for target in package.targets where target.swiftSettings != nil && target.type != .test {
    guard target.path?.hasPrefix("Tests/") != true else { continue }
    target.swiftSettings?.append(
        .unsafeFlags([
            "-Xfrontend", "-disable-implicit-concurrency-module-import", "-Xfrontend",
            "-disable-implicit-string-processing-module-import",
        ]))
}

// In release it is the modules under test that are optimized; to optimize the tests too would double the time of the build.
for target in package.targets where target.type == .test || target.path?.hasPrefix("Tests/") == true {
    target.swiftSettings?.append(.unsafeFlags(["-Onone"], .when(configuration: .release)))
}

// The fuzz driver needs the sanitizer's runtime: scripts/fuzz asks for it.
if Context.environment["CHATAUTH_FUZZ"] == "1" {
    package.targets.append(
        .executableTarget(
            name: "FuzzDriver", dependencies: ["FuzzProperties", "AdapterProperties"],
            path: "Fuzz/FuzzDriver",
            swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]))
}
