"""Takes a log of system calls, picks moments in it, and has every image of these moments checked."""

import concurrent.futures
import os
import random
import shutil

from disk import Disk
from strace import read_log

MODES = ("lost", "torn", "kept")


class Result:
    def __init__(self):
        self.images = self.sound = 0
        self.faults = []  # what the check said, with mode and moment
        self.acknowledged = 0


def moments(calls, disk, acknowledgements, number, generator):
    """The calls after which images are made: half of them right after an acknowledgement, where a loss would show."""
    after_change, after_acknowledgement = [], []
    for index, call in enumerate(calls):
        if disk.apply(*call):
            after_change.append(index)
        if acknowledgements(call):
            after_acknowledgement.append(index)
    half = min(len(after_acknowledgement), number // 2)
    chosen = set(generator.sample(after_acknowledgement, half))
    rest = [index for index in after_change if index not in chosen]
    chosen.update(generator.sample(rest, min(len(rest), number - half)))
    return chosen


def replay(base_before, base, log, acknowledgements, check, images, seed, scratch, jobs=2, keep=None):
    """Replays `log`, made of a run on `base`, whose content before the run lies in `base_before`.

    `acknowledgements()` makes a reader for one walk over the log, which tells of each call what it acknowledged; `check(directory, acknowledged)` returns "" or what is wrong
    with an image, given everything acknowledged by then.
    """
    calls = list(read_log(log))
    generator = random.Random(seed)

    def fresh_disk():
        disk = Disk(base_before)
        move = lambda tree: {os.path.realpath(base) + path[len(disk.base):]: node for path, node in tree.items()}
        disk.names, disk.safe_names = move(disk.names), move(disk.safe_names)
        disk.base = os.path.realpath(base)
        disk.learn_processes(calls)
        return disk

    chosen = moments(calls, fresh_disk(), acknowledgements(), max(1, images // len(MODES)), generator)
    disk, result, acknowledged, running = fresh_disk(), Result(), [], set()
    read_acknowledgements = acknowledgements()

    def judge(directory, so_far, where):
        fault = check(directory, so_far)
        if fault and keep:
            shutil.copytree(directory, os.path.join(keep, os.path.basename(directory)), dirs_exist_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
        return f"{where}: {fault}" if fault else ""

    def collect(finished):
        for future in finished:
            fault = future.result()
            result.sound += not fault
            if fault:
                result.faults.append(fault)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for index, call in enumerate(calls):
            disk.apply(*call)
            acknowledged.extend(read_acknowledgements(call))
            if index not in chosen:
                continue
            for mode in MODES:
                directory = os.path.join(scratch, f"image-{index}-{mode}")
                disk.image(mode, directory, generator)
                result.images += 1
                where = f"{mode} after call {index} of {len(calls)}, {len(acknowledged)} acknowledged"
                running.add(pool.submit(judge, directory, tuple(acknowledged), where))
            while len(running) > 4 * jobs:
                done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                collect(done)
        collect(concurrent.futures.as_completed(running))
    result.acknowledged = len(acknowledged)
    return result
