"""Build files are read as Docker reads them; what is not supported is refused by name and line."""

import os

import pytest

from code_env import ImageError
from code_env.images.build_context import BuildContext
from code_env.images.build_file import assignments, expanded, is_build_file, read_build_file, script_of


def read(tmp_path, text):
    path = tmp_path / "Dockerfile"
    path.write_text(text)
    return read_build_file(path)


def test_lines_are_joined_and_comments_left_out(tmp_path):
    text = """\
# syntax=docker/dockerfile:1

# a comment
arg VERSION=12
from   debian:$VERSION
RUN apt-get install \\
    # between the lines
    one \\

    two
  # an indented comment
ENV A=1
"""
    found = [(one.name, " ".join(one.text.split())) for one in read(tmp_path, text)]
    assert found == [
        ("ARG", "VERSION=12"),
        ("FROM", "debian:$VERSION"),
        ("RUN", "apt-get install one two"),
        ("ENV", "A=1"),
    ]


def test_another_character_can_join_lines(tmp_path):
    found = read(tmp_path, "# escape=`\nFROM scratch\nRUN a `\nb \\\nENV C=1\n")
    assert [one.text.replace("  ", " ") for one in found] == ["scratch", "a b \\", "C=1"]


def test_the_last_line_can_ask_for_more(tmp_path):
    assert [one.text.strip() for one in read(tmp_path, "FROM scratch\nRUN a \\")] == ["scratch", "a"]


def test_here_documents_belong_to_run(tmp_path):
    text = "FROM scratch\nRUN <<EOF\n# no comment\na \\\n\nEOF\nRUN cat <<-'X' > f && b\n\tline\n\tX\nENV A=1\n"
    _, script, command, last = read(tmp_path, text)
    assert script_of(script) == "# no comment\na \\\n"
    assert script_of(command) == "cat <<-'X' > f && b\n\tline\n\tX"
    assert last.text == "A=1"


ONE_LINE = ["RUN echo $((1<<A))", "RUN cat <<< word", "RUN cat <<<word", 'RUN echo "a <<EOF b"', "RUN echo 'a <<EOF b'"]


@pytest.mark.parametrize("line", ONE_LINE)
def test_not_every_shift_begins_a_here_document(line, tmp_path):
    _, run, _ = read(tmp_path, f"FROM scratch\n{line}\nENV A=1\n")
    assert (run.documents, script_of(run)) == ((), line.removeprefix("RUN "))


def test_lines_and_words_end_as_docker_ends_them(tmp_path):
    text = "\ufeffFROM\tscratch\r\nENV\tA\tb c\r\nRUN\techo \u2028 \x0b \\  \r\n  more\r\nRUN echo \\\\\nLABEL A=1"
    found = [(one.name, one.text) for one in read(tmp_path, text)]
    names, texts = zip(*found, strict=True)
    assert names == ("FROM", "ENV", "RUN", "RUN", "LABEL")
    assert texts[2:] == ("echo \u2028 \x0b   more", "echo \\\\", "A=1")
    assert assignments(read(tmp_path, text)[1], {}) == {"A": "b c"}


def test_words_can_be_a_json_array(tmp_path):
    _, array, words = read(tmp_path, 'FROM scratch\nRUN ["a", "b c <<EOF"]\nRUN [ -f x ] || y\n')
    assert (array.array, words.array) == (["a", "b c <<EOF"], None)


REFUSED = {
    "FROM scratch\nEXPOSE 80\n": "Dockerfile:2: the instruction EXPOSE is not supported",
    "FROM scratch\n\n\nHEALTHCHECK NONE\n": "Dockerfile:4: the instruction HEALTHCHECK",
    "FROM a AS b\nFROM c\n": "Dockerfile:2: FROM: a second FROM",
    "FROM --platform=linux/arm64 a\n": "Dockerfile:1: FROM --platform is not supported",
    "FROM scratch\nRUN --mount=type=cache,target=/x y\n": "Dockerfile:2: RUN --mount is not supported",
    "FROM scratch\nCOPY --from=x a b\n": "Dockerfile:2: COPY --from is not supported",
    "FROM scratch\nCOPY <<EOF /x\na\nEOF\n": "Dockerfile:2: COPY: a here-document is supported for RUN only",
    "FROM scratch\nRUN <<EOF\na\n": "Dockerfile:2: RUN: the here-document has no line EOF",
    "# escape=^\nFROM scratch\n": "Dockerfile:1: escape must be",
    "RUN x\n": "has to begin with FROM",
    "": "has to begin with FROM",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_what_is_not_supported_is_refused_by_name_and_line(text, message, tmp_path):
    with pytest.raises(ImageError) as error:
        read(tmp_path, text)
    assert message in str(error.value)


EXPANDED = {
    "a  b\tc": ["a", "b", "c"],
    "$A ${A} x${A}y": ["one", "one", "xoney"],
    "$NONE": [""],
    "${NONE:-else} ${A:-else} ${EMPTY:-else}": ["else", "one", "else"],
    "${NONE:+there} ${A:+there}": ["", "there"],
    "${NONE:-$A} ${NONE:-${A}x} ${NONE:-${EMPTY:-${A}}}": ["one", "onex", "one"],
    "${NONE-else} ${EMPTY-else}- ${NONE+there}- ${EMPTY+there}": ["else", "-", "-", "there"],
    "${A?told} ${A:?told} ${EMPTY?told}": ["one", "one", ""],
    "\"a $A\" 'b $A' \\$A": ["a one", "b $A", "$A"],
    '"" x': ["", "x"],
    'a\\ b "c\\d"': ["a b", "c\\d"],
    "$A.txt $": ["one.txt", "$"],
}


@pytest.mark.parametrize(("text", "words"), EXPANDED.items(), ids=EXPANDED)
def test_variables_are_replaced_as_a_shell_does(text, words):
    assert expanded(text, {"A": "one", "EMPTY": ""}) == words


UNKNOWN = {
    "${A#o}": r"\$\{A#o\} is not supported; what is: \$\{A\}",
    "${}": "is not supported",
    "${A": "has no closing brace",
    "${NONE?give it}": "NONE is not set: give it",
    "${EMPTY:?}": "EMPTY is not set",
}


@pytest.mark.parametrize(("text", "message"), UNKNOWN.items(), ids=UNKNOWN)
def test_another_form_of_a_variable_is_an_error(text, message, tmp_path):
    _, one = read(tmp_path, f"FROM scratch\nENV B={text}\n")
    with pytest.raises(ImageError, match=f"Dockerfile:2: ENV: .*{message}"):
        assignments(one, {"A": "one", "EMPTY": ""})


def test_another_program_for_a_here_document_is_refused(tmp_path):
    _, one = read(tmp_path, "FROM scratch\nRUN <<EOF\n#!/usr/bin/python3\nprint(1)\nEOF\n")
    with pytest.raises(ImageError, match=r"Dockerfile:2: RUN: .* write it as in RUN python3 <<EOF"):
        script_of(one)


def test_both_forms_of_env(tmp_path):
    text = 'FROM scratch\nENV A  b c\nENV A=b "C=d e" F="$X g"\nENV A=b c\nENV A\n'
    _, old, new, bad, none = read(tmp_path, text)
    assert assignments(old, {}) == {"A": "b c"}
    assert assignments(new, {"X": "x"}) == {"A": "b", "C": "d e", "F": "x g"}
    with pytest.raises(ImageError, match="Dockerfile:4: ENV: NAME=VALUE was expected"):
        assignments(bad, {})
    with pytest.raises(ImageError, match="Dockerfile:5: ENV: NAME=VALUE was expected"):
        assignments(none, {})


def test_a_build_file_is_known_by_its_name(tmp_path):
    names = ["Dockerfile", "Dockerfile.gpu", "x.Dockerfile", "Containerfile", "image.tar", "Dockerfiles", "dockerfile"]
    for name in names:
        (tmp_path / name).touch()
    assert [name for name in names if is_build_file(tmp_path / name)] == names[:4]


def test_dockerignore_leaves_files_out(tmp_path):
    names = ["a.log", "keep.log", "x/b.log", "x/y/c.txt", "x/y/d.py", "z/e.py", "z/.git/f", "top.md", "[odd]"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".dockerignore").write_text(
        "# comment\n*.log\n!keep.log\nx/y/*.txt\n**/.git\n/top.??\n\n.dockerignore\n"
    )
    context = BuildContext(tmp_path, "Dockerfile")
    found = [str(path.relative_to(context.root)) for path in context.files()]
    assert sorted(found) == ["[odd]", "keep.log", "x/b.log", "x/y/d.py", "z/e.py"]
    assert [name for _, name in context.matching("x/*")] == ["b.log", "y"]
    assert context.matching("a.log") == context.matching("none") == []


def test_a_build_file_can_have_a_dockerignore_of_its_own(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).touch()
    (tmp_path / ".dockerignore").write_text("a\n")
    (tmp_path / "gpu.Dockerfile.dockerignore").write_text("b\n.dockerignore\n*.dockerignore\n")
    names = {
        name: [path.name for path in BuildContext(tmp_path, name).files()] for name in ("Dockerfile", "gpu.Dockerfile")
    }
    assert names == {"Dockerfile": [".dockerignore", "b", "gpu.Dockerfile.dockerignore"], "gpu.Dockerfile": ["a"]}
    assert len(BuildContext(tmp_path).files()) == 4


def test_a_dockerignore_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / ".dockerignore").write_text("[z-a]\n")
    with pytest.raises(ImageError, match="dockerignore cannot be read: bad character range"):
        BuildContext(tmp_path, "Dockerfile")


def test_no_file_outside_of_the_directory_can_be_copied(tmp_path):
    context = tmp_path / "context"
    context.mkdir()
    (tmp_path / "secret").touch()
    (context / "link").symlink_to(tmp_path)
    (context / "file").symlink_to(tmp_path / "secret")
    found = BuildContext(context)
    for pattern in ("../secret", "link/secret", "../*secret", "link", "file", "*"):
        assert found.matching(pattern) == []
    assert found.matching(".") == [(context, "context")]  # In the image the links lead elsewhere.


def test_a_link_that_is_named_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").touch()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "alias").symlink_to("link/file")
    found = BuildContext(tmp_path)
    assert found.matching("link") == [(tmp_path / "real", "link")]
    assert found.matching("alias") == found.matching("a*") == [(tmp_path / "real/file", "alias")]


def test_pipes_are_left_out(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    found = BuildContext(tmp_path)
    assert (found.files(), found.matching("pipe")) == ([tmp_path / "file"], [])
