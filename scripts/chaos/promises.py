"""What the chaos programs make the broker promise, and how they find out whether it kept it.

Each save has a number. Its token says the number, and its account follows from it, so that a token read back tells
which save it came from: it must be the highest acknowledged one of its account, or a later one.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from private_daemon import RPCError  # noqa: E402

ACCOUNTS = [f"account-{letter}" for letter in "abcdefgh"]
PADDING = "x" * 600
CONFIGURATION = "".join(f'[account.{name}]\nprovider = "generic"\n\n' for name in ACCOUNTS)


def account_of(number):
    return ACCOUNTS[number % len(ACCOUNTS)]


def token_of(number):
    return f"token-{number}-{PADDING}"


def number_of(token):
    return int(token.split("-")[1])


def send_save(client, number):
    """Asks for save `number`; the answer has the same id."""
    client.send("credentials.save", {"account": account_of(number), "access_token": token_of(number)}, number)


def newest(numbers):
    """account -> highest acknowledged number"""
    result = {}
    for number in numbers:
        result[account_of(number)] = max(number, result.get(account_of(number), 0))
    return result


def read_back(client, account):
    """The number of the token that the broker holds, 0 for none, or the kind of its error."""
    try:
        return number_of(client.call("token.get", {"account": account, "wait": 0})["bearer_token"])
    except RPCError as error:
        return 0 if error.kind in ("sign_in_needed", "no_source", "credential_empty") else error.kind or str(error)


def broken(client, promised):
    """What is missing of `promised` (account -> number), in words; empty when everything is there."""
    faults = []
    for account, number in sorted(promised.items()):
        held = read_back(client, account)
        if not isinstance(held, int):
            faults.append(f"{account}: {held} instead of {number}")
        elif held < number:
            faults.append(f"{account}: {held or 'nothing'} instead of {number}")
    return "; ".join(faults)
