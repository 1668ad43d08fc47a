"""How a server starts in an image."""

from code_env.executors.local.images import start_in
from code_env.executors.local.interpreter import ENVIRONMENT
from code_env.images import Image


def test_the_variables_of_an_image_are_kept_but_where_ours_have_the_same_name(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").touch(mode=0o755)
    theirs = {"GREETING": "hello", "PATH": "/bin", "HOME": "/root", "TMPDIR": "/", "PYTHONHASHSEED": "random"}
    theirs |= {name: "8" for name in ENVIRONMENT if name.endswith("_NUM_THREADS")}
    found = start_in(Image(source=str(tmp_path), root=str(tmp_path), variables=theirs))["environment"]
    ours = {name: value for name, value in ENVIRONMENT.items() if name != "PATH"}
    assert {name: found[name] for name in ours} == ours
    assert (found["GREETING"], found["PATH"]) == ("hello", "/bin")
    assert "/root" != found["HOME"] != found["TMPDIR"] != "/"
