"""Breaks a call off and goes on: python try.py AGENT PROVIDER [mend]. AGENT is create_agent, create_react_agent or deepagents,
PROVIDER openai or anthropic, at OPENAI_BASE_URL or ANTHROPIC_BASE_URL. Says how each question ended."""

import asyncio
import sys
import warnings

from langchain_core.tools import tool
from langgraph.checkpoint.memory import MemorySaver
from mend import MendToolCalls, mend_before_model

warnings.simplefilter("ignore")
agent, provider, mended = sys.argv[1], sys.argv[2], sys.argv[3:] == ["mend"]


working = asyncio.Event()


@tool
async def slow(q: str) -> str:
    "a slow tool"
    working.set()
    await asyncio.sleep(3600)


if provider == "openai":
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="gpt-4o", max_retries=0)
else:
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model="claude-sonnet-4-5", max_tokens=500, max_retries=0)

middleware = [MendToolCalls()] if mended else []
if agent == "create_react_agent":
    from langgraph.prebuilt import create_react_agent

    graph = create_react_agent(model, [slow], checkpointer=MemorySaver(), pre_model_hook=mend_before_model if mended else None)
elif agent == "create_agent":
    from langchain.agents import create_agent

    graph = create_agent(model, [slow], checkpointer=MemorySaver(), middleware=middleware)
else:
    from deepagents import create_deep_agent

    graph = create_deep_agent(model=model, tools=[slow], checkpointer=MemorySaver(), middleware=middleware)


async def main():
    config = {"configurable": {"thread_id": "1"}}
    for question in ("please use slow", "hello again", "and once more"):
        asked = asyncio.create_task(graph.ainvoke({"messages": [("user", question)]}, config))
        if "slow" in question:  # broken off between the call and its result
            await asyncio.wait_for(working.wait(), 120)
            asked.cancel()
        try:
            answer = (await asked)["messages"][-1].text
            print("answered:", answer if isinstance(answer, str) else answer())
        except BaseException as error:  # noqa: BLE001
            print("failed:", type(error).__name__, str(error)[:200].replace("\n", " "))


asyncio.run(main())
