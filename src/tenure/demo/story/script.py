"""What happens to the workers: each script waits for its moment, strikes, and starts again what it struck.

A script is a generator that is asked again and again, a few times a second; `yield` means "not yet".
"""

from collections.abc import Callable, Generator, Iterable
from typing import Final

from tenure.core.effect import ATTEMPT_SUBJECT
from tenure.demo.story.acts import ORDER, SCENES, payment, scene_name
from tenure.demo.story.play import Play

Script = Generator[None, None, None]

TAKEOVER_LOOKS: Final = 150
"""Bound: how often a worker that stays away looks whether its work has been taken over."""

BY_CHANCE: Final = ("worker", "executor", "server", "worker")


def scripts(play: Play) -> list[Script]:
    """Return everything that will happen, in no order but that of its moments."""
    order = play.chance.shuffled("order", range(len(BY_CHANCE)))
    return [
        strike_the_walk(play),
        strike_the_late_render(play),
        pay(play),
        *(by_chance(play, place, BY_CHANCE[kind]) for place, kind in enumerate(order)),
    ]


def strike_the_walk(play: Play) -> Script:
    """Kill the walk's worker in the middle of it, and start it again at once."""
    yield from _until(
        lambda: (
            play.state("walk") == "done" or (play.share("walk") > 0.3 and _is_held_by_one_up(play, "walk"))
        )
    )
    worker = play.holder("walk")
    if worker is None:
        return  # too quick to strike
    done = play.tasks["walk"].progress
    _strike_worker(play, worker, f"walk stood at item {done.completed if done else 0}")
    _start_again(play, worker)


def strike_the_late_render(play: Play) -> Script:
    """Kill a worker between the farm's commit and its late reply, and keep it away until others took over."""
    name = ""
    while not name or not _is_held_by_one_up(play, name):
        yield
        name = _late_render(play)
        if name and play.state(name) == "done":
            return  # too slow to strike: the late reply has arrived
    worker = play.holder(name) or ""
    _strike_worker(play, worker, f"the farm has made {name} and its reply is on the way")
    for _ in range(TAKEOVER_LOOKS):
        yield
        if play.holder(name) not in {worker, None} or play.state(name) == "done":
            play.tell("taken_over", f"{play.holder(name)} took {name} over", {"task": name})
            break
    _start_again(play, worker)


def pay(play: Play) -> Script:
    """Kill a worker between the bank's commit and its reply; then decide, as a person would."""
    yield from _until(lambda: play.share("walk") > 0.5 and not play.is_quiet and play.fleet.server_is_up())
    play.is_quiet = True
    part = payment(play.props)
    play.submit([part])
    name = part.name
    yield from _until(
        lambda: play.state(name) == "unknown" or (_charges(play) != [] and _is_held_by_one_up(play, name))
    )
    worker = play.holder(name)
    if worker is not None:
        _strike_worker(play, worker, f"the bank has taken the money for {ORDER} and its reply is on the way")
        _start_again(play, worker)
    yield from _until(lambda: play.state(name) == "unknown")
    subject = play.tasks[name].unknown[0].subject
    play.tell("unknown", f"{name} is unknown: nobody can tell whether {subject!r} happened", {"task": name})
    for line in play.fleet.cli("unknown", "unknown", name).splitlines():
        if line.strip():
            play.tell("shown", f"    {line}")
    _give_verdict(play, name, subject)
    play.is_quiet = False


def by_chance(play: Play, place: int, kind: str) -> Script:
    """Strike something when a share of all work is done that only the seed knows."""
    width = 0.8 / len(BY_CHANCE)
    least = 0.1 + width * place
    moment = play.chance.between(f"moment {place}", least, least + width)
    yield from _until(lambda: play.total_share() >= moment and not play.is_quiet and play.up() != [])
    worker = play.chance.one_of(f"worker {place}", play.up())
    text = f"by chance, at {play.total_share():.0%} of all work"
    if kind == "server" and play.fleet.server_is_up():
        play.fleet.strike_server()
        play.tell("killed", f"kill -9: the control plane ({text})", {"process": "server"})
        play.fleet.start_server()
        play.tell("started", "the control plane is started again on its store", {"process": "server"})
    elif kind == "executor" and play.fleet.executors(worker):
        executor = play.chance.one_of(f"executor {place}", play.fleet.executors(worker))
        executor.kill()
        play.tell("killed", f"kill -9: one executor of {worker} ({text})", {"process": worker})
    else:
        _strike_worker(play, worker, text)
        _start_again(play, worker)


def _strike_worker(play: Play, worker: str, why: str) -> None:
    died = play.fleet.strike_worker(worker)
    play.tell(
        "killed", f"kill -9: worker {worker} and its executors, {died} processes ({why})", {"process": worker}
    )


def _start_again(play: Play, worker: str) -> None:
    play.fleet.start_worker(worker)
    play.tell("started", f"worker {worker} is started again on its state folder", {"process": worker})


def _give_verdict(play: Play, name: str, subject: str) -> None:
    """Look at the bank's statement, and say what it says through the public command line."""
    charges = _charges(play)
    verdict = ["--happened", f'"{charges[0]}"'] if charges else ["--did-not-happen", "--anyway"]
    if subject == ATTEMPT_SUBJECT:
        verdict = ["--did-not-happen", "--anyway"]
    note = f"the bank's statement shows {charges[0] if charges else 'no charge'}"
    words = ["reconcile", name, subject, *verdict, "--note", note]
    play.tell("decided", f"    $ tenure {' '.join(words[:-1])} '{note}'", {"task": name})
    for line in play.fleet.cli("reconcile", *words).splitlines():
        play.tell("shown", f"    {line}")


def _late_render(play: Play) -> str:
    """Return the task whose scene's creation is answered late, once it is known."""
    records = play.records()
    late = [r["about"] for r in records if r["kind"] == "reply_delayed" and r["operation"] == "create"]
    scenes = [str(r["scene"]) for r in records if r["kind"] == "job" and r["id"] in late]
    return scene_name(scenes[0]) if scenes and scenes[0] in SCENES else ""


def _charges(play: Play) -> list[str]:
    return [str(r["id"]) for r in play.records() if r["kind"] == "charge" and r["order"] == ORDER]


def _is_held_by_one_up(play: Play, name: str) -> bool:
    return play.holder(name) in play.up()


def _until(is_time: Callable[[], bool]) -> Iterable[None]:
    while not is_time():
        yield
