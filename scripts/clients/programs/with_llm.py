"""llm, the command line of Simon Willison: an answer, a schema, a tool by name, and an error that it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cases import DEMO, PERSON, PLAYER, RESULT, SCENE, ok

home = Path.cwd()
(home / "extra-openai-models.yaml").write_text(
    "".join(
        f"- model_id: {name}\n  model_name: {model}\n  api_base: {url}/v1\n  supports_tools: true\n  supports_schema: true\n"
        for name, model, url in (("demo", "default", DEMO), ("player", "default", PLAYER), ("gone", "gone", DEMO))
    ),
    encoding="utf-8",
)
(home / "tools.py").write_text(
    f'def get_weather(city: str) -> str:\n    """Tell the weather of a city."""\n    return "{RESULT}"\n',
    encoding="utf-8",
)


def llm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it with what stands in this folder."""
    environment = {**os.environ, "LLM_USER_PATH": str(home), "OPENAI_API_KEY": "unused"}
    command = (sys.executable, "-m", "llm", *arguments)
    return subprocess.run(
        command, env=environment, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )


ok("streamed", text=llm("-m", "demo", "-o", "max_tokens", "20", PERSON).stdout)
ok("whole", text=llm("-m", "demo", "--no-stream", "-o", "max_tokens", "20", PERSON).stdout)
schema = llm("-m", "demo", "--schema", "name, age int", PERSON).stdout
ok("schema", called='"age"' in schema, text=schema)
told = llm("-m", "player", "--functions", "tools.py", SCENE)
ok("tool", text=told.stdout, result=True)
ok("error", called="gone" in llm("-m", "gone", PERSON).stderr)
