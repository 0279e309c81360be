"""Tool calls without a result, mended inside a LangGraph agent: put this file beside yours.

create_agent(model, tools, middleware=[MendToolCalls()])            # langchain
create_deep_agent(model=model, tools=tools, middleware=[MendToolCalls()])
create_react_agent(model, tools, pre_model_hook=mend_before_model)  # langgraph.prebuilt
"""

from langchain_core.messages import AIMessage, ToolMessage

NO_RESULT = "No result: this call was broken off. It may have had effects; look before you repeat it."


def mend(messages):
    """Each call with exactly one result, directly behind it; results without a call go."""
    mended = []
    for i, message in enumerate(messages):
        if not isinstance(message, ToolMessage):
            mended.append(message)
        if isinstance(message, AIMessage):
            results = {}
            for later in messages[i + 1 :]:
                if isinstance(later, AIMessage) and later.tool_calls:
                    break  # ids may be used again
                if isinstance(later, ToolMessage):
                    results.setdefault(later.tool_call_id, later)
            for call in message.tool_calls:
                missing = ToolMessage(NO_RESULT, tool_call_id=call["id"], name=call["name"], status="error")
                mended.append(results.get(call["id"], missing))
    return mended


def mend_before_model(state):
    return {"llm_input_messages": mend(state["messages"])}


try:
    from langchain.agents.middleware import AgentMiddleware
except ImportError:  # langgraph alone
    pass
else:

    class MendToolCalls(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=mend(request.messages)))

        async def awrap_model_call(self, request, handler):
            return await handler(request.override(messages=mend(request.messages)))
