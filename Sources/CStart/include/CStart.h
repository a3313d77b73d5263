// What a program that must start fast does before the Swift runtime sets itself up.
#pragma once

/// The arguments as the kernel handed them over, ended by a null pointer; they live as long as the process.
char *const *cs_arguments(void);
/// The environment as the kernel handed it over, ended by a null pointer; it lives as long as the process.
char *const *cs_environment(void);
/// Replaces a function of the standard library; see CStart.c.
char **_swift_stdlib_getUnsafeArgvArgc(int *count);
