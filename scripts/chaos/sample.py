#!/usr/bin/env python3
"""A stand-in for the broker that is nothing but SQLite: it shows that the replay finds what is lost, and only that.

usage: sample.py write DIR JOURNAL SYNCHRONOUS COUNT    prints `ACK n` once row n is committed
       sample.py check DIR ACKNOWLEDGED                 0: rows 1 to ACKNOWLEDGED are there; 1: some are not; 2: corrupt
"""

import os
import sqlite3
import sys


def write(directory, journal, synchronous, count):
    database = sqlite3.connect(os.path.join(directory, "sample.db"), isolation_level=None)
    database.execute(f"PRAGMA journal_mode={journal}")
    database.execute(f"PRAGMA synchronous={synchronous}")
    database.execute("CREATE TABLE IF NOT EXISTS rows (n INTEGER PRIMARY KEY, content BLOB)")
    for n in range(1, count + 1):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO rows VALUES (?, ?)", (n, os.urandom(700)))
        database.execute("COMMIT")
        os.write(1, b"ACK %d\n" % n)


def check(directory, acknowledged):
    path = os.path.join(directory, "sample.db")
    if not os.path.exists(path):
        return 1 if acknowledged else 0
    try:
        database = sqlite3.connect(path, isolation_level=None)
        if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            return 2
        present = database.execute("SELECT count(*) FROM rows WHERE n <= ?", (acknowledged,)).fetchone()[0]
    except sqlite3.OperationalError as error:
        return 1 if acknowledged and "no such table" in str(error) else 2 if acknowledged else 0
    except sqlite3.DatabaseError:
        return 2
    return 0 if present == acknowledged else 1


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        sys.exit(check(sys.argv[2], int(sys.argv[3])))
