"""The key of E2B is shown nowhere, and what happens without one."""

import logging
import pickle
import traceback
import warnings

import pytest

from code_env import E2BMisconfigured, ExecutorClosed, ExecutorError, Program, Status, UnsupportedProgram, make_executor
from code_env.executors.e2b.key import ApiKey
from code_env.executors.machines import machine_run
from code_env.executors.machines.bundle import bundle
from code_env.executors.machines.faults import described
from e2b_server import Fault

KEY = "e2b_" + "f00d" * 10


def holders(error, key):
    """Where the frames of an exception, and of those it came of, hold the key."""
    found, left, seen = [], [error], set()
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        left += [one.__cause__, one.__context__]
        frames = [
            frame for frame, _ in traceback.walk_tb(one.__traceback__) if "/code_env/" in frame.f_code.co_filename
        ]
        for frame in frames:
            for name, value in frame.f_locals.items():
                inner = [vars(each) for each in getattr(value, "__dict__", {}).values() if hasattr(each, "__dict__")]
                if key in f"{value!r} {getattr(value, '__dict__', '')} {inner}":
                    found.append((frame.f_code.co_name, name))
    return found


class TestTheKey:
    def test_it_is_shown_nowhere(self, e2b, caplog, monkeypatch):
        monkeypatch.delenv("E2B_API_KEY")
        caplog.set_level(logging.DEBUG)
        retry = {"first_wait_s": 0.02, "longest_wait_s": 0.05, "create_tries": 2}
        with make_executor("e2b", api_key=e2b.api_key, retry=retry) as executor:
            found = executor.run(Program("import os; print(dict(os.environ))\nraise ValueError"))
            e2b.faults.add("create", Fault.INTERNAL, times=2)
            failed = executor.run(Program("print(1)"))
            assert failed.status is Status.SANDBOX_ERROR
            e2b.faults.add("create", Fault.UNAUTHORIZED)
            with pytest.raises(ExecutorError) as refused:
                executor.run(Program("print(1)"))
            trace = "".join(traceback.TracebackException.from_exception(refused.value, capture_locals=True).format())
            assert refused.value.__context__ is None  # The SDK's frames hold it.
            texts = [repr(executor), repr(vars(executor)), repr(found), repr(failed), trace, str(executor.describe())]
            texts.append(pickle.dumps(executor).decode("latin-1"))
        texts += [record.getMessage() for record in caplog.records]
        assert not [text for text in texts if e2b.api_key in text]
        assert "E2B_API_KEY" not in found.stdout
        assert e2b.api_key.encode() not in bundle()

    def test_no_frame_of_an_exception_holds_it(self, e2b, monkeypatch):
        monkeypatch.delenv("E2B_API_KEY")
        with make_executor("e2b", api_key=e2b.api_key) as executor:
            e2b.faults.add("list", Fault.UNAUTHORIZED)
            with pytest.raises(ExecutorError, match="the account's sandboxes cannot be listed") as listed:
                executor.sweep()
            monkeypatch.setattr(machine_run, "COMMAND", "exec /no/such/python")
            with pytest.raises(E2BMisconfigured) as misconfigured:
                executor.run(Program("print(1)"))
        order = """echo '~0'; exec python3 -c 'import json; nonce = json.load(open("job.json"))["nonce"]
print(json.dumps({"nonce": nonce, "fault": ["UnsupportedProgram", "no node"]}))'"""
        monkeypatch.setattr(machine_run, "COMMAND", order)
        with (
            make_executor("e2b", api_key=e2b.api_key) as executor,
            pytest.raises(UnsupportedProgram, match="no node") as unsupported,
        ):
            executor.run(Program("1", "javascript"))
        for raised in (listed, misconfigured, unsupported):
            assert raised.value.__context__ is None  # The SDK's frames hold it.
            assert holders(raised.value, e2b.api_key) == []

    @pytest.mark.parametrize("around", ["{}\n", " {}\r\n", "\t{} "])
    def test_blanks_around_it_are_no_part_of_it(self, around):
        key = ApiKey.find(around.format(KEY))
        assert key.reveal() == KEY
        assert key.without(f"Illegal header value b'{KEY} '") == "Illegal header value b'... '"

    def test_a_key_that_is_escaped_in_a_message_is_blotted_out_too(self):
        assert ApiKey("a\\b'c").without(f"no {'a' + chr(92) + 'b' + chr(39) + 'c'!r}") == 'no "..."'

    @pytest.mark.parametrize("key", ["schl\u00fcssel", "a\nb", "a\u200b", "\ud800"])
    def test_what_no_request_can_carry_is_refused_and_not_shown(self, key):
        with pytest.raises(ExecutorError, match=r"^api_key must be of printable ASCII characters") as refused:
            make_executor("e2b", api_key=key)
        assert key not in str(refused.value)

    def test_blanks_are_no_key(self, monkeypatch):
        monkeypatch.setenv("E2B_API_KEY", " \n")
        with pytest.raises(ExecutorError, match="E2B needs a key"):
            make_executor("e2b", api_key="  ")

    def test_a_message_is_not_cut_within_it(self):
        assert KEY[:8] not in described(ValueError("x" * 470 + KEY), ApiKey(KEY).without)

    def test_a_pickle_reads_the_environment_of_who_opens_it(self, monkeypatch):
        pickled = pickle.dumps(ApiKey(KEY))
        assert KEY.encode() not in pickled
        monkeypatch.setenv("E2B_API_KEY", "another")
        assert pickle.loads(pickled).reveal() == "another"
        monkeypatch.delenv("E2B_API_KEY")
        with pytest.raises(LookupError, match="E2B_API_KEY"):
            pickle.loads(pickled)


class TestWithoutAKey:
    @pytest.fixture(autouse=True)
    def no_key(self, monkeypatch):
        monkeypatch.delenv("E2B_API_KEY", raising=False)

    def test_it_is_an_error_that_says_what_to_do(self):
        with pytest.raises(ExecutorError, match=r'E2B_API_KEY, pass api_key, or pass fallback="local"'):
            make_executor("e2b")

    def test_the_fallback_runs_programs_and_says_so(self):
        with pytest.warns(UserWarning, match="no key for E2B, so programs run on 'local' instead") as warned:
            executor = make_executor("e2b", fallback="local")
        with executor, make_executor("local") as local:
            assert executor.run(Program("print(1)")).stdout == "1\n"
            told, plain = executor.describe(), local.describe()
            assert (told.level, told.enforces) == (plain.level, plain.enforces)
            assert told.details == f"the fallback of e2b, since there is no key: {plain.details}"
            assert executor.sweep() == 0
        assert len(warned) == 1
        for use in (lambda: executor.submit(Program("print(1)")), executor.describe, executor.sweep):
            with pytest.raises(ExecutorClosed):
                use()

    def test_a_fallback_to_itself_is_refused(self):
        with pytest.raises(ExecutorError, match="another executor than e2b"):
            make_executor("e2b", fallback="e2b")

    def test_with_a_key_the_fallback_is_not_used(self, e2b, monkeypatch):
        monkeypatch.setenv("E2B_API_KEY", e2b.api_key)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with make_executor("e2b", fallback="local") as executor:
                assert executor.describe().level == "machine"
