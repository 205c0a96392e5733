"""Chance from a seed."""

from tenure.demo.story.chance import Chance


def test_the_same_seed_and_name_draw_the_same() -> None:
    assert Chance(7).share("a") == Chance(7).share("a")
    assert len({Chance(seed).share(name) for seed in range(20) for name in "abc"}) == 60


def test_draws_stay_within_their_bounds() -> None:
    for seed in range(200):
        chance = Chance(seed)
        assert 0 <= chance.share("a") < 1
        assert 2 <= chance.between("b", 2, 3) < 3
        assert chance.one_of("c", "xyz") in "xyz"
        assert sorted(chance.shuffled("d", [1, 2, 3])) == [1, 2, 3]
