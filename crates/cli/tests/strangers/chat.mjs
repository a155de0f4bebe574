// Drives `POST /chat` as a web page with `useChat` does, with the AI SDK's own chat and transport.
//
//   node chat.mjs URL CREDENTIAL GATE
//
// GATE is a file that a command of the third turn waits for. Prints one JSON document with the messages
// as the chat keeps them; ends with status 1 and a sentence when the chat is not where it should be.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import {
  AbstractChat,
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from 'ai';

const [url, credential, gate] = process.argv.slice(2);
const id = 'room 7/ä?';

class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = message => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((known, at) => (at === index ? message : known));
  };
  snapshot = value => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(messages = [], connected = () => {}) {
    const state = new State();
    state.messages = messages;
    let finished = () => {};
    super({
      id,
      state,
      transport: transport(response => this.connected(response)),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onFinish: () => finished(),
    });
    // The SDK sends answers to approvals on its own and hands out no promise for it.
    this.connected = connected;
    this.finish = () => new Promise(resolve => (finished = resolve));
  }
}

function transport(connected = () => {}) {
  const headers = { authorization: `Bearer ${credential}` };
  const told = async (...request) => {
    const response = await fetch(...request);
    if (response.status === 200) connected(response);
    return response;
  };
  return new DefaultChatTransport({ api: `${url}/chat`, headers, fetch: told });
}

const last = chat => chat.lastMessage;
const tools = chat => last(chat).parts.filter(isToolUIPart);
const words = chat => last(chat).parts.filter(part => part.type === 'text').map(part => part.text).join('|');
const settled = chat => assert.equal(chat.status, 'ready', String(chat.error));

async function answer(chat, approved, reason) {
  const [asked] = tools(chat).filter(part => part.state === 'approval-requested');
  assert.ok(asked, 'something is asked');
  const finished = chat.finish();
  await chat.addToolApprovalResponse({ id: asked.approval.id, approved, reason });
  await finished;
}

const chat = new Chat();
assert.equal(await transport().reconnectToStream({ chatId: id }), null, 'nothing is live yet');

await chat.sendMessage({ text: 'first: write a file' });
settled(chat);
assert.equal(words(chat), 'I write.|Written and read.');
assert.deepEqual(tools(chat).map(part => part.state), ['output-available', 'output-available']);

await chat.sendMessage({ text: 'second: may I?' });
settled(chat);
assert.deepEqual(tools(chat).map(part => part.state), ['approval-requested']);
await answer(chat, false, 'not today');
settled(chat);
assert.deepEqual(tools(chat).map(part => part.state), ['output-denied']);
assert.equal(words(chat), 'I ask.|Then not.');

await chat.sendMessage({ text: 'third: run and wait' });
settled(chat);
assert.deepEqual(tools(chat).map(part => part.state), ['approval-requested']);
const before = structuredClone(chat.messages);
const finished = chat.finish();
const [asked] = tools(chat);
const answered = new Promise(resolve => (chat.connected = resolve));
await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
// A second page of the same chat, which knows the messages up to here, comes while the run works.
await answered;
const other = new Chat(before, () => writeFileSync(gate, '\n'));
const resumed = other.resumeStream();
await finished;
await resumed;
settled(chat);
settled(other);
assert.equal(words(chat), 'I ask again.|It ran.');
assert.deepEqual(tools(chat).map(part => part.state), ['output-available']);
assert.equal(await transport().reconnectToStream({ chatId: id }), null, 'nothing is live any more');

process.stdout.write(JSON.stringify({ messages: chat.messages, other: other.messages }));
