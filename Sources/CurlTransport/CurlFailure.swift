import CCurl
import CredentialCore

/// libcurl's results in our words; its texts stay behind.
enum CurlFailure {
    /// What `code` means.
    ///
    /// `verification` is CURLINFO_SSL_VERIFYRESULT, an X509_V_ERR_ number of OpenSSL; `proxyVerification` the same for a proxy's certificate.
    static func failure(_ code: CURLcode, verification: Int, proxyVerification: Int) -> FetchFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: .nameNotResolved
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .connectionFailed
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_PEER_FAILED_VERIFICATION:
            proxyVerification != 0 ? .proxyFailed : certificate(verification)
        case CURLE_SSL_CACERT_BADFILE: .caFileUnreadable
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CLIENTCERT,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_INITFAILED:
            .tlsFailed
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .proxyFailed
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE,
            CURLE_SEND_FAIL_REWIND:
            .connectionLost
        // A single header line above libcurl's own limit is reported as memory that it would not allot.
        case CURLE_OUT_OF_MEMORY, CURLE_FILESIZE_EXCEEDED: .tooLarge
        case CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT: .badRequest
        // An answer without a status line (HTTP/0.9) is an unsupported protocol to libcurl.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            .malformedResponse
        // What is not known to have ended before the request went out may have reached the server.
        default: .connectionLost
        }
    }

    // OpenSSL's x509_vfy.h. libcurl compares the host name itself, and before it asks for the verdict on a chain that the handshake found good:
    // the number is then still what it was at first, X509_V_ERR_UNSPECIFIED.
    private static func certificate(_ verification: Int) -> FetchFailure {
        switch verification {
        case 0, 1, 62, 64: .certificateWrongHost
        case 9, 10: .certificateExpired
        default: .certificateUntrusted
        }
    }
}
