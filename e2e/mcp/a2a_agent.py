"""An agent on A2A's official Python SDK: python a2a_agent.py PORT. What it does with a message goes by its first word."""

import asyncio
import sys

import uvicorn
from a2a.helpers.proto_helpers import new_data_part, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

contexts = {}  # by context id: what was said


class Agent(AgentExecutor):
    async def execute(self, context, queue):
        task = context.current_task
        if not task:
            task = new_task_from_user_message(context.message)
            await queue.enqueue_event(task)
        to = TaskUpdater(queue, task.id, task.context_id)
        text = context.get_user_input()
        said = contexts.setdefault(task.context_id, [])
        said.append(text)
        await to.start_work(new_text_message("reading"))
        word = text.split()[0]
        if word == "large":
            for i in range(50):
                lines = "".join(f"line {i * 400 + j} of a long report\n" for j in range(400))
                await to.add_artifact([new_text_part(lines)], artifact_id="report", append=i > 0, last_chunk=i == 49)
        elif word == "slow":
            for i in range(30):
                await to.update_status(2, new_text_message(f"step {i}"))
                await to.add_artifact([new_text_part(f"{i};")], artifact_id="steps", append=i > 0, last_chunk=i == 29)
                await asyncio.sleep(0.1)
        elif word == "fail":
            await to.failed(new_text_message("the book is lost"))
            return
        elif word == "raise":
            raise RuntimeError("a mistake")
        elif word == "pick":
            await to.requires_input(new_text_message("Which of the two?"))
            return
        elif word == "hang":
            await asyncio.sleep(3600)
        elif word == "data":
            await to.add_artifact([new_data_part({"hulls": 2})])
        else:
            await to.add_artifact([new_text_part(" and ".join(said))])
        await to.complete()

    async def cancel(self, context, queue):
        print("cancelled", flush=True)
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


port = int(sys.argv[1])
card = AgentCard(
    name="Librarian",
    description="Reads books.",
    version="1.0",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    supported_interfaces=[AgentInterface(url=f"http://127.0.0.1:{port}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")],
    skills=[AgentSkill(id="read", name="Read", description="Reads a book.", tags=["books"], examples=["read the first page"])],
)
handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card)
app = Starlette(routes=create_agent_card_routes(card) + create_jsonrpc_routes(handler, "/rpc"))
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
