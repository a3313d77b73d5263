/// The name of a grant; the same rule as an account's, so that it is as safe to print.
package typealias GrantName = AccountName

/// The name of a secret; the same rule as an account's, so that it is as safe to print.
package typealias SecretName = AccountName
