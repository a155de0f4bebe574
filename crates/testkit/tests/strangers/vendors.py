"""Plays a two-turn conversation with a tool through the vendors' own clients.

Usage: vendors.py BASE_URL. Every answer is read whole and streamed; the clients' own types judge it.
"""

import sys

import anthropic
import openai

BASE = sys.argv[1]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def chat_completions():
    client = openai.OpenAI(base_url=BASE + "/v1", api_key="k", max_retries=0)
    tools = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
    messages = [{"role": "user", "content": "hi"}]
    ask = {"model": "stand-in", "tools": tools}

    whole = client.chat.completions.create(messages=messages, **ask)
    message = whole.choices[0].message
    assert whole.choices[0].finish_reason == "tool_calls", whole
    assert message.content == "I look.", message
    call = message.tool_calls[0]
    assert call.function.name == "bash" and call.function.arguments == '{"command":"ls"}', call
    assert whole.usage.prompt_tokens == 18 and whole.usage.completion_tokens == 7, whole.usage
    assert whole.usage.prompt_tokens_details.cached_tokens == 5, whole.usage

    with client.chat.completions.stream(
        messages=messages, stream_options={"include_usage": True}, **ask
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    streamed = final.choices[0].message
    assert streamed.content == message.content, streamed
    assert streamed.tool_calls[0].id == call.id, streamed
    assert streamed.tool_calls[0].function.arguments == call.function.arguments, streamed
    assert final.usage == whole.usage, final.usage

    messages += [
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "README.md"},
    ]
    last = client.chat.completions.create(messages=messages, **ask)
    assert last.choices[0].message.content == "Done." and last.choices[0].finish_reason == "stop"

    try:
        client.chat.completions.create(messages=messages[:2], **ask)
        raise AssertionError("an unanswered call was accepted")
    except openai.BadRequestError as error:
        assert "tool_call" in str(error), error
    assert [model.id for model in client.models.list()] == ["stand-in"]


def messages_api():
    client = anthropic.Anthropic(base_url=BASE, api_key="k", max_retries=0)
    tools = [{"name": "bash", "input_schema": SCHEMA}]
    messages = [{"role": "user", "content": "hi"}]
    ask = {"model": "stand-in", "max_tokens": 4096, "tools": tools}

    whole = client.messages.create(messages=messages, **ask)
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"], whole
    assert whole.stop_reason == "tool_use", whole
    assert whole.content[0].signature == "c2lnbmVk", whole
    assert whole.content[2].input == {"command": "ls"}, whole
    assert whole.usage.input_tokens == 11 and whole.usage.cache_read_input_tokens == 5, whole.usage

    with client.messages.stream(messages=messages, **ask) as stream:
        for _ in stream:
            pass
        final = stream.get_final_message()
    plain = lambda message: [block.model_dump(exclude_none=True) for block in message.content]
    assert [b["type"] for b in plain(final)] == [b["type"] for b in plain(whole)], final
    assert final.content[0].thinking == whole.content[0].thinking, final
    assert final.content[0].signature == whole.content[0].signature, final
    assert final.content[1].text == whole.content[1].text, final
    assert final.content[2].input == whole.content[2].input, final
    assert final.usage.output_tokens == whole.usage.output_tokens, final.usage

    messages += [
        {"role": "assistant", "content": plain(whole)},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": whole.content[2].id, "content": "README.md"}
            ],
        },
    ]
    last = client.messages.create(messages=messages, **ask)
    assert last.content[0].text == "Done." and last.stop_reason == "end_turn", last

    try:
        client.messages.create(messages=messages[:2] + [messages[0]], **ask)
        raise AssertionError("an unanswered call was accepted")
    except anthropic.BadRequestError as error:
        assert "tool_result" in str(error), error


chat_completions()
messages_api()
print("accepted")
