"""How a plain ``cdktf deploy`` finds the mirror that ``make setup`` recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_hardware.provider_mirror import link_mirror


class TestLinkMirror:
    @pytest.fixture(autouse=True)
    def _project(self, tmp_path: Path) -> None:
        self.root = tmp_path / "project"
        self.mirror = tmp_path / "mirror"
        self.mirror.mkdir()
        self.outdir = self.root / "cdktf.out"
        self.places = [self.outdir / "stacks" / name / "terraform.d" / "plugins" for name in ("one", "two")]
        for place in self.places:
            place.parent.parent.mkdir(parents=True)
        self.record = self.root / ".build" / "terraform" / "plugins"
        self.record.parent.mkdir(parents=True)

    def test_links_every_stack_again_and_again(self) -> None:
        self.record.symlink_to(self.mirror)
        for _ in range(2):
            link_mirror(self.outdir, self.root)
            assert [place.readlink() for place in self.places] == [self.mirror, self.mirror]

    def test_without_a_record_nothing_happens(self) -> None:
        link_mirror(self.outdir, self.root)
        assert not any(place.parent.exists() for place in self.places)

    def test_a_link_of_an_earlier_setup_goes(self) -> None:
        self.record.symlink_to(self.mirror)
        link_mirror(self.outdir, self.root)
        self.record.unlink()
        link_mirror(self.outdir, self.root)
        assert not any(place.is_symlink() for place in self.places)

    def test_a_mirror_that_is_gone_is_not_linked(self, tmp_path: Path) -> None:
        self.record.symlink_to(tmp_path / "gone")
        link_mirror(self.outdir, self.root)
        assert not any(place.is_symlink() for place in self.places)

    def test_a_folder_of_the_users_own_stays(self) -> None:
        self.record.symlink_to(self.mirror)
        self.places[0].mkdir(parents=True)
        link_mirror(self.outdir, self.root)
        assert not self.places[0].is_symlink()
        assert self.places[1].is_symlink()

    def test_never_fails_on_a_read_only_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.record.symlink_to(self.mirror)

        def refuse(*_arguments: object, **_options: object) -> None:
            raise PermissionError(13, "Permission denied")

        # Not with chmod, because root can write everywhere.
        for name in ("mkdir", "symlink_to", "unlink", "rename", "replace"):
            monkeypatch.setattr(Path, name, refuse)
        link_mirror(self.outdir, self.root)
        assert not any(place.is_symlink() for place in self.places)

    def test_never_fails_without_output(self, tmp_path: Path) -> None:
        link_mirror(tmp_path / "nothing", self.root)
