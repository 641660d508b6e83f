"""The splitter: what it reads, what it refuses, and that shlex agrees with all it reads."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_system._split import ACTS, BUILTINS, KEYWORDS, MAX_CHARACTERS, MAX_WORDS, split, words_of

PIECES = st.sampled_from(
    ["ls", "a", " ", "  ", "\t", "\n", "'", '"', "\\", "$", "$x", "${", "$(", "`", "|", "&", ";", "<", ">", "(", ")",
     "*", "?", "[", "]", "{",
     "}", ",", "..", "~", "#", "=", "A=", "!", "if", "cd", "/", "-", "--x=", "é", "\u00a0", "\u200b",
     "\r", "\x0b", "\0", "\ud800", "{a,b}", "\\\n", '\\"', "\\$", "%", "@", "+=", "\x1c", "\x85", "\u3000"]
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40))
def test_any_text_is_split_as_shlex_splits_it_or_is_invalid_input(text: str) -> None:
    words: list[str] = []
    code = None
    try:
        words = words_of(text)
    except ToolError as refusal:
        code = refusal.code
    if code is not None:
        assert code is ErrorCode.INVALID_INPUT
        return
    assert words
    assert words[0]
    assert words == shlex.split(text)


@settings(max_examples=200)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20), min_size=1))
def test_words_that_were_quoted_come_back_as_they_were(words: list[str]) -> None:
    text = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    if not words[0]:
        with pytest.raises(ToolError, match="the command is empty"):
            split(text)
        return
    assert split(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ls -la", ["ls", "-la"]),
        ("  ls\t-la  ", ["ls", "-la"]),
        ("echo 'a b'\"c d\"e\\ f", ["echo", "a bc de f"]),
        ("echo '' \"\"", ["echo", "", ""]),
        ("grep 'a|b;c&d>e<f$g`h*' x", ["grep", "a|b;c&d>e<f$g`h*", "x"]),
        ('grep "foo$" x', ["grep", "foo$", "x"]),
        ('echo "a $ b" "\\"" "\\\\" "\\n"', ["echo", "a $ b", '"', "\\", "\\n"]),
        ("git show HEAD@{1}", ["git", "show", "HEAD@{1}"]),
        ("find . -name '*.py' \\( -size 1 \\)", ["find", ".", "-name", "*.py", "(", "-size", "1", ")"]),
        ("echo a#b a~b a=b =x", ["echo", "a#b", "a~b", "a=b", "=x"]),
        ("'FOO=1' x", ["FOO=1", "x"]),
        ("F'OO'=1 x", ["FOO=1", "x"]),
        ("\\cd x", ["cd", "x"]),
        ("'a\nb' c", ["a\nb", "c"]),
        ("sed 's/\\(a\\)/\\1/' x", ["sed", "s/\\(a\\)/\\1/", "x"]),
        ("ls é ü", ["ls", "é", "ü"]),
        ("ls $", ["ls", "$"]),
        ("ls $/", ["ls", "$/"]),
    ],
)
def test_a_plain_command_is_split_by_the_rules_of_a_shell(text: str, words: list[str]) -> None:
    assert split(text) == words
    assert shlex.split(text) == words


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ls | wc", "character 4: pipes are not supported"),
        ("ls > x", "character 4: redirection is not supported"),
        ("ls < x", "redirection"),
        ("ls &", "background commands"),
        ("ls; ls", "several commands"),
        ("ls\nls", "line break"),
        ("ls $(id)", "command substitution"),
        ("ls `id`", "command substitution"),
        ('ls "$(id)"', "character 5: command substitution"),
        ('ls "`id`"', "command substitution"),
        ("ls $HOME", "variables are not expanded"),
        ('ls "$HOME"', "use single quotes"),
        ("ls *", "patterns of file names"),
        ("ls {a,b}", "braces are not expanded"),
        ("ls {1..3}", "braces are not expanded"),
        ("ls ~", "~ is not expanded"),
        ("ls #x", "comments"),
        ("A=1 ls", "variables of the environment cannot be set"),
        ("cd x", "'cd' is a shell's own command"),
        ("! ls", "shell's own"),
        ("ls 'x", "character 4: the quote ' is not closed"),
        ('ls "x', 'the quote " is not closed'),
        ("ls \\", "nothing follows the backslash"),
        ("ls \\\nx", "continued lines"),
        ('ls "\\$x"', "take this backslash away"),
        ("ls\u00a0x", "U+00A0 cannot be seen"),
        ("ls\rx", "U+000D"),
        ("", "the command is empty"),
        ("   ", "the command is empty"),
        ("'' x", "the command is empty"),
        ("x" * (MAX_CHARACTERS + 1), "too long"),
    ],
)
def test_what_a_shell_would_act_on_is_refused_by_name_and_position(text: str, says: str) -> None:
    with pytest.raises(ToolError) as refusal:
        split(text)
    assert refusal.value.code is ErrorCode.INVALID_INPUT
    assert says in refusal.value.message


@pytest.mark.parametrize("character", [*ACTS, "$x", "$("])
def test_quotes_make_every_sign_of_a_shell_mean_itself(character: str) -> None:
    assert split(f"echo '{character}'") == ["echo", character]
    with pytest.raises(ToolError):
        split(f"echo {character}")


def test_words_of_a_shell_are_refused_only_where_a_command_begins() -> None:
    for word in KEYWORDS | BUILTINS:
        with pytest.raises(ToolError):
            split(f"{word} x")
        assert split(f"echo '{word}'") == ["echo", word]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ([], "the command is empty"),
        ([""], "the command is empty"),
        (["ls", "a\0b"], "word 2 holds a NUL"),
        (["ls", "\ud800"], "half of a surrogate pair"),
        (["x"] * (MAX_WORDS + 1), "too long"),
        (["x", "y" * MAX_CHARACTERS], "too long"),
        ("ls '\0'", "word 2 holds a NUL"),
    ],
)
def test_what_no_program_can_be_given_is_refused(command: str | list[str], says: str) -> None:
    with pytest.raises(ToolError) as refusal:
        words_of(command)
    assert refusal.value.code is ErrorCode.INVALID_INPUT
    assert says in refusal.value.message


def test_in_a_list_every_word_is_literal() -> None:
    words = ["grep", "a | b", "$HOME", "*", "~", "", "A=1", "\n"]
    assert words_of(words) == words
