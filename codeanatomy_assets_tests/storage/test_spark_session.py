"""The Spark session's JVM: it starts again after a stop, says why it can't, and never outlives its process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codeanatomy_assets import toolchain
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.storage.spark_session import SparkEngine, SparkSettings

SECONDS_TO_END = 20
PREPARE = """
import os, sys
from pathlib import Path
from codeanatomy_assets import toolchain
from codeanatomy_assets.storage.spark_session import SparkEngine, SparkSettings
engine = SparkEngine(SparkSettings(toolchain.java(), toolchain.delta_jars(), driver_memory="1g",
                                   log_file=Path(sys.argv[1]) / "new" / "spark.log"))
"""
TWO_SESSIONS_AND_A_DEAD_JVM = """
assert not engine.started
engine.stop()
first = engine.session()
assert first.range(3).count() == 3 and engine.session() is first
engine.stop()
assert not engine.started
assert engine.session().range(4).count() == 4
os.kill(engine._gateway._process.pid, 9)
engine._gateway._process.wait()
engine.stop()
assert not [name for name in os.environ if name.startswith(("PYSPARK_GATEWAY", "_PYSPARK"))]
assert engine.session().range(5).count() == 5
print("done")
"""
INTERRUPTED_IN_MID_CALL = """
import signal
class Interrupted(BaseException):
    pass
def interrupt(*_):
    raise Interrupted
signal.signal(signal.SIGALRM, interrupt)
sleep = engine.session()._jvm.java.lang.Thread.sleep
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    sleep(2000)
    raise SystemExit("not interrupted")
except Interrupted:
    engine.stop()
assert engine.session().range(6).count() == 6
print("done")
"""
LISTENS_WHERE_ITS_HOST_SAYS = """
import psutil
from dataclasses import replace
def listens_at(settings):
    engine = SparkEngine(settings)
    assert engine.session().range(3).count() == 3
    held = psutil.Process(engine._gateway._process.pid).net_connections()
    engine.stop()
    return {each.laddr.ip.removeprefix("::ffff:") for each in held if each.status == "LISTEN"}
assert listens_at(engine.settings) == {"127.0.0.1"}
assert "127.0.0.2" in listens_at(replace(engine.settings, extra={"spark.driver.host": "127.0.0.2"}))
print("done")
"""
WAIT_TO_BE_KILLED = """
engine.launch()
print(engine._gateway._process.pid, flush=True)
if "session" in sys.argv:
    engine.session()
print("ready", flush=True)
sys.stdin.readline()
"""


def settings(log_file: Path | None, **changed: object) -> SparkSettings:
    told = {"java": toolchain.java(), "jars": toolchain.delta_jars(), "driver_memory": "1g", **changed}
    return SparkSettings(log_file=log_file, **told)  # type: ignore[arg-type]


def is_running(pid: int) -> bool:
    """Whether a process is there, and no mere zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
@pytest.mark.parametrize("does", [TWO_SESSIONS_AND_A_DEAD_JVM, INTERRUPTED_IN_MID_CALL], ids=["died", "interrupted"])
def test_a_session_starts_again_in_one_process_whatever_ended_the_one_before(tmp_path: Path, does: str) -> None:
    command = [sys.executable, "-c", PREPARE + does, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_driver_listens_on_loopback_or_where_its_host_setting_says(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PREPARE + LISTENS_WHERE_ITS_HOST_SAYS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("moment", ["starting", "session"])
def test_the_jvm_ends_when_its_process_is_killed(tmp_path: Path, moment: str) -> None:
    command = [sys.executable, "-c", PREPARE + WAIT_TO_BE_KILLED, str(tmp_path), moment]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    jvm = int(process.stdout.readline())
    assert process.stdout.readline() == "ready\n"
    assert is_running(jvm)
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    deadline = time.monotonic() + SECONDS_TO_END
    while is_running(jvm) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(jvm)


def test_a_jvm_that_cannot_start_tells_its_last_words_and_not_an_earlier_ones(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text("words of an earlier JVM\n")
    engine = SparkEngine(settings(log, driver_memory="0k"))
    with pytest.raises(
        CodeAnatomyError, match=r"(?s)Spark did not start \(exit 1\): check CODEANATOMY_DRIVER_MEMORY.*(heap|memory)"
    ) as refused:
        engine.session()
    assert "earlier" not in str(refused.value)
    assert not engine.started


def test_a_jvm_that_leaves_no_log_is_said_to(tmp_path: Path) -> None:
    with pytest.raises(CodeAnatomyError, match=r"Spark did not start \(exit 1\): it left no log"):
        SparkEngine(settings(None, driver_memory="0k")).session()


def test_a_java_that_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    engine = SparkEngine(settings(tmp_path / "spark.log", java=tmp_path / "no" / "java"))
    with pytest.raises(CodeAnatomyError, match=r"no/java can't be run .*: run make setup"):
        engine.session()
    assert "_PYSPARK_DRIVER_CONN_INFO_PATH" not in os.environ
    assert not engine.started


def test_the_storage_options_reach_hadoop_in_its_own_words() -> None:
    told = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "k", "AWS_ALLOW_HTTP": "true"}
    configuration = settings(None, storage_options=told).configuration()
    assert configuration["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:9"
    assert configuration["spark.hadoop.fs.s3a.access.key"] == "k"
    assert configuration["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "false"
    assert not [key for key in settings(None).configuration() if key.startswith("spark.hadoop")]


def test_an_extra_setting_wins_over_a_default() -> None:
    assert settings(None, extra={"spark.ui.enabled": "true"}).configuration()["spark.ui.enabled"] == "true"
