"""Where the provider is searched, the decision, and the saved result."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from eks_hardware.local import terraform
from eks_hardware.local.terraform import Mirror, Source, TerraformError
from helpers.cases import in_one_test

PLATFORM = "linux_amd64"
# user_config, named_mirror, registry, mirror -> source; None means either, and no source
_DECISIONS = [
    ((True, None, None, None), Source.USER_CONFIG),
    ((False, True, None, None), Source.NAMED_MIRROR),
    ((False, False, True, None), Source.REGISTRY),
    ((False, False, False, True), Source.MIRROR),
    ((False, False, False, False), None),
]
_FAKE_TERRAFORM = """#!/bin/sh
printf '{product} v%s\\non linux_amd64\\n' {version}
"""


def _tree(folder: Path) -> Path:
    return folder.joinpath(*terraform.PROVIDER.split("/"))


def _unpacked(folder: Path, version: str = "5.100.0", platform: str = PLATFORM) -> Path:
    leaf = _tree(folder) / version / platform
    leaf.mkdir(parents=True)
    (leaf / f"terraform-provider-aws_v{version}_x5").touch()
    return folder


def _packed(folder: Path, version: str = "5.100.0", platform: str = PLATFORM) -> Path:
    _tree(folder).mkdir(parents=True, exist_ok=True)
    (_tree(folder) / f"terraform-provider-aws_{version}_{platform}.zip").touch()
    return folder


def _program(folder: Path, version: str, name: str = "terraform") -> Path:
    program = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    program.write_text(
        _FAKE_TERRAFORM.format(version=version, product="OpenTofu" if name == "tofu" else "Terraform"), encoding="utf-8"
    )
    program.chmod(0o755)
    return program


@in_one_test(
    ("text", "expected"),
    [("5.100.0", (5, 100, 0)), ("1.2", None), ("6.0.0-beta1", None), ("v1.2.3", None), ("", None)],
)
def test_parse_version(text: str, expected: terraform.Version | None) -> None:
    assert terraform.parse_version(text) == expected


class TestMirror:
    def test_unpacked(self, tmp_path: Path) -> None:
        assert terraform.look_in(_unpacked(tmp_path), PLATFORM) == Mirror(tmp_path, (5, 100, 0), packed=False)

    def test_packed(self, tmp_path: Path) -> None:
        assert terraform.look_in(_packed(tmp_path), PLATFORM) == Mirror(tmp_path, (5, 100, 0), packed=True)

    @in_one_test(
        ("version", "platform"),
        [
            pytest.param("5.99.1", PLATFORM, id="too old"),
            pytest.param("7.0.0", PLATFORM, id="too new"),
            pytest.param("6.0.0-beta1", PLATFORM, id="pre-release"),
            pytest.param("5.100.0", "darwin_arm64", id="another platform"),
        ],
    )
    @in_one_test("make", [_unpacked, _packed])
    def test_not_usable(self, tmp_path: Path, make: object, version: str, platform: str) -> None:
        assert callable(make)
        make(tmp_path, version, platform)
        assert terraform.look_in(tmp_path, PLATFORM) is None

    def test_the_newest_accepted_version_counts_and_unpacked_before_packed(self, tmp_path: Path) -> None:
        for version in ("5.100.0", "6.25.0", "7.1.0"):
            _unpacked(tmp_path, version)
            _packed(tmp_path, version)
        assert terraform.look_in(tmp_path, PLATFORM) == Mirror(tmp_path, (6, 25, 0), packed=False)

    def test_an_empty_version_folder_is_no_provider(self, tmp_path: Path) -> None:
        (_tree(tmp_path) / "5.100.0" / PLATFORM).mkdir(parents=True)
        assert terraform.look_in(tmp_path, PLATFORM) is None

    @in_one_test(("depth", "followed"), [(0, True), (1, False), (2, False), (3, False), (5, True)])
    def test_links_count_where_terraform_follows_them(self, tmp_path: Path, depth: int, followed: bool) -> None:
        real = _unpacked(tmp_path / "real")
        parts = [*terraform.PROVIDER.split("/"), "5.100.0", PLATFORM]
        target = real.joinpath(*parts[:depth])
        place = (tmp_path / "linked").joinpath(*parts[:depth])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
        assert (terraform.look_in(tmp_path / "linked", PLATFORM) is not None) is followed


class TestCandidates:
    def test_linux(self, tmp_path: Path) -> None:
        _unpacked(tmp_path / "opt" / "some-software")
        environ = {"XDG_DATA_HOME": "/data/home", "XDG_DATA_DIRS": "/data/one::/data/two"}
        found = list(
            terraform.mirror_candidates(environ, Path("/home/me"), system="linux", optional_software=tmp_path / "opt")
        )
        assert [str(path) for path in found] == [
            "/home/me/.terraform.d/plugins",
            "/data/home/terraform/plugins",
            "/data/one/terraform/plugins",
            "/data/two/terraform/plugins",
            "/usr/local/share/terraform/plugins",
            str(tmp_path / "opt" / "some-software"),
        ]

    def test_linux_defaults(self, tmp_path: Path) -> None:
        found = list(terraform.mirror_candidates({}, Path("/home/me"), system="linux", optional_software=tmp_path))
        assert Path("/home/me/.local/share/terraform/plugins") in found
        assert Path("/usr/share/terraform/plugins") in found

    def test_macos(self, tmp_path: Path) -> None:
        found = list(terraform.mirror_candidates({}, Path("/Users/me"), system="darwin", optional_software=tmp_path))
        assert found == [
            Path("/Users/me/.terraform.d/plugins"),
            Path("/Users/me/Library/Application Support/io.terraform/plugins"),
            Path("/Library/Application Support/io.terraform/plugins"),
        ]


class TestUserConfig:
    OWN = "provider_installation {\n  direct {}\n}\n"

    @in_one_test(
        ("named", "text", "counts"),
        [
            pytest.param("own.rc", OWN, True, id="named file with a mirror"),
            pytest.param("own.rc", 'credentials "x" {}\n', False, id="named file without a mirror"),
            pytest.param("own.rc", "# provider_installation {\n", False, id="only in a comment"),
            pytest.param("missing.rc", None, False, id="named file is missing"),
        ],
    )
    def test_named(self, tmp_path: Path, named: str, text: str | None, counts: bool) -> None:
        file = tmp_path / named
        if text is not None:
            file.write_text(text, encoding="utf-8")
        found = terraform.user_config({"TF_CLI_CONFIG_FILE": str(file)}, tmp_path)
        assert found == (file if counts else None)

    @pytest.mark.parametrize("place", [".terraformrc", ".terraform.d/mine.tfrc"])
    def test_in_the_home_folder(self, tmp_path: Path, place: str) -> None:
        file = tmp_path / place
        file.parent.mkdir(exist_ok=True)
        file.write_text(self.OWN, encoding="utf-8")
        assert terraform.user_config({}, tmp_path) == file
        # Like Terraform: the variable hides them, even if it names nothing.
        assert terraform.user_config({"TF_CLI_CONFIG_FILE": "/no/such/file"}, tmp_path) is None


class TestCliConfig:
    @in_one_test(
        ("path", "written"),
        [
            ("/opt/mirror", '"/opt/mirror"'),
            ("/a b/c", '"/a b/c"'),
            ('/a"b', r'"/a\"b"'),
            ("/a\\b", r'"/a\\b"'),
            ('/a\\"b', r'"/a\\\"b"'),
            ("/a$b", '"/a$b"'),
        ],
    )
    def test_paths_are_quoted(self, path: str, written: str) -> None:
        assert f"    path    = {written}\n" in terraform.cli_config(Path(path))

    @pytest.mark.parametrize("path", ["/a${b}", "/a\nb"])
    def test_what_cannot_be_quoted_is_refused(self, path: str) -> None:
        with pytest.raises(ValueError, match="cannot contain the path"):
            terraform.cli_config(Path(path))

    def test_the_registry_is_not_asked_for_the_provider(self) -> None:
        text = terraform.cli_config(Path("/opt/mirror"))
        assert text.count(f'["{terraform.PROVIDER}"]') == 2
        assert "exclude" in text.partition("direct {")[2]


class TestFindTerraform:
    def test_found(self, tmp_path: Path) -> None:
        program = _program(tmp_path, "1.11.4")
        found = terraform.find_terraform({"PATH": str(tmp_path)})
        assert found == terraform.Terraform(program, (1, 11, 4), PLATFORM)

    @in_one_test(
        ("version", "says"),
        [
            (None, "not on the PATH"),
            ("1.4.7", r"must be version 1\.5 or newer, got 1\.4\.7"),
            ("x", "got 'Terraform vx'"),
        ],
    )
    def test_not_usable_in_one_line(self, tmp_path: Path, version: str | None, says: str) -> None:
        if version:
            _program(tmp_path, version)
        with pytest.raises(TerraformError, match=says) as caught:
            terraform.find_terraform({"PATH": str(tmp_path)})
        assert len(str(caught.value).splitlines()) == 1
        assert "install" in str(caught.value)

    def test_opentofu_where_terraform_is_missing(self, tmp_path: Path) -> None:
        tofu = _program(tmp_path, "1.12.6", "tofu")
        found = terraform.find_terraform({"PATH": str(tmp_path)})
        assert found == terraform.Terraform(tofu, (1, 12, 6), PLATFORM, is_opentofu=True)
        assert found.environment == {"TERRAFORM_BINARY_NAME": str(tofu)}

    def test_terraform_first_unless_the_variable_names_another(self, tmp_path: Path) -> None:
        program, tofu = _program(tmp_path, "1.11.4"), _program(tmp_path, "1.12.6", "tofu")
        environ = {"PATH": str(tmp_path)}
        assert terraform.find_terraform(environ).path == program
        assert terraform.find_terraform({**environ, "TERRAFORM_BINARY_NAME": "tofu"}).path == tofu
        with pytest.raises(TerraformError, match="terragrunt is not on the PATH"):
            terraform.find_terraform({**environ, "TERRAFORM_BINARY_NAME": "terragrunt"})


class TestPrepare:
    @pytest.fixture(autouse=True)
    def _nothing_of_this_machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        _program(tmp_path / "bin", "1.11.4")
        self.environ = {"PATH": str(tmp_path / "bin")}
        self.home = tmp_path / "home"
        self.root = tmp_path / "project"
        self.reachable = False
        self.candidates: list[Path] = []
        monkeypatch.setattr(terraform, "registry_reachable", lambda _: self.reachable)
        monkeypatch.setattr(terraform, "mirror_candidates", lambda *_: iter(self.candidates))

    def _prepare(self) -> terraform.Providers:
        return terraform.prepare(self.root, self.environ, home=self.home)

    def test_registry(self, tmp_path: Path) -> None:
        self.reachable = True
        self.candidates = [_unpacked(tmp_path / "mirror")]
        assert self._prepare() == terraform.Providers(Source.REGISTRY, None, {})
        assert not self.root.exists()

    def test_mirror(self, tmp_path: Path) -> None:
        self.candidates = [tmp_path / "empty", _unpacked(tmp_path / "mirror")]
        found = self._prepare()
        config = Path(found.environment["TF_CLI_CONFIG_FILE"])
        assert found.source is Source.MIRROR
        assert config == self.root / ".build" / "terraform" / "terraformrc"
        assert str(tmp_path / "mirror") in config.read_text(encoding="utf-8")
        assert sorted(path.name for path in config.parent.iterdir()) == ["terraformrc"]

    def test_the_first_candidate_that_has_it_wins(self, tmp_path: Path) -> None:
        self.candidates = [tmp_path / "a", _unpacked(tmp_path / "b"), _unpacked(tmp_path / "c", "6.0.0")]
        found = self._prepare()
        assert found.mirror is not None
        assert found.mirror.path == tmp_path / "b"

    def test_every_situation_is_decided_as_the_table_says(self, tmp_path: Path) -> None:
        mirror = _packed(tmp_path / "mirror")
        config = tmp_path / "own.rc"
        config.write_text(TestUserConfig.OWN, encoding="utf-8")
        settings = [("TF_CLI_CONFIG_FILE", config), (terraform.MIRROR_VARIABLE, mirror)]
        for given in itertools.product([False, True], repeat=4):
            (expected,) = [
                source
                for pattern, source in _DECISIONS
                if all(wanted in (None, is_so) for wanted, is_so in zip(pattern, given, strict=True))
            ]
            set_ = {name: str(value) for (name, value), is_so in zip(settings, given[:2], strict=True) if is_so}
            self.environ = {"PATH": self.environ["PATH"], **set_}
            self.reachable, self.candidates = given[2], [mirror] if given[3] else []
            if expected:
                assert self._prepare().source is expected, given
            else:
                with pytest.raises(TerraformError, match="was not found"):
                    self._prepare()

    def test_named_mirror_counts_before_the_registry(self, tmp_path: Path) -> None:
        self.reachable = True
        self.environ[terraform.MIRROR_VARIABLE] = str(_packed(tmp_path / "mirror"))
        assert self._prepare().source is Source.NAMED_MIRROR

    def test_named_mirror_without_the_provider(self, tmp_path: Path) -> None:
        self.environ[terraform.MIRROR_VARIABLE] = str(tmp_path)
        with pytest.raises(TerraformError, match=r"TF_PLUGIN_MIRROR=.* contains no") as caught:
            self._prepare()
        assert len(str(caught.value).splitlines()) == 1

    @pytest.mark.parametrize("kind", [_unpacked, _packed])
    def test_opentofu_finds_the_provider_under_its_registry(self, tmp_path: Path, kind: Callable[..., Path]) -> None:
        self.environ = {"PATH": str(_program(tmp_path / "only-tofu", "1.12.6", "tofu").parent)}
        self.candidates = [kind(tmp_path / "mirror")]
        found = self._prepare()
        assert found.mirror is not None
        assert found.environment["TERRAFORM_BINARY_NAME"] == str(tmp_path / "only-tofu" / "tofu")
        written = Path(found.environment["TF_CLI_CONFIG_FILE"]).read_text(encoding="utf-8")
        assert written.count('["registry.opentofu.org/hashicorp/aws"]') == 2
        linked = found.mirror.path / "registry.opentofu.org" / "hashicorp" / "aws"
        (leaf,) = (each for each in linked.rglob("*") if each.is_symlink())
        assert leaf.readlink() == tmp_path / "mirror" / terraform.PROVIDER / leaf.relative_to(linked)
        assert self._prepare() == found

    def test_own_configuration_is_left_alone(self) -> None:
        self.home.mkdir()
        (self.home / ".terraformrc").write_text(TestUserConfig.OWN, encoding="utf-8")
        found = self._prepare()
        assert (found.source, dict(found.environment)) == (Source.USER_CONFIG, {})

    def test_nowhere_in_one_line(self) -> None:
        with pytest.raises(TerraformError, match="is unreachable, and this machine has no provider mirror") as caught:
            self._prepare()
        assert len(str(caught.value).splitlines()) == 1

    def test_the_record_follows_the_decision(self, tmp_path: Path) -> None:
        record = self.root / ".build" / "terraform" / "plugins"
        self.candidates = [_unpacked(tmp_path / "mirror")]
        terraform.record_mirror(self.root, self._prepare())
        assert record.resolve() == tmp_path / "mirror"
        self.reachable = True
        terraform.record_mirror(self.root, self._prepare())
        assert not record.is_symlink()
