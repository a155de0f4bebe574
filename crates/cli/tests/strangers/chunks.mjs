// Reads a corpus of run streams with the AI SDK itself.
//
//   node chunks.mjs CORPUS.json
//
// CORPUS.json is a list of { name, stream, stored }: a whole stream as the wire has it, and the stored
// message or null. The streams go through the transport's own decoder and schema and through the SDK's
// own reducer; the stored messages through the SDK's validation. Prints one JSON list of
// { name, chunks, errors, refused, message, invalid }. It compares nothing.
import { readFileSync } from 'node:fs';
import { DefaultChatTransport, readUIMessageStream, safeValidateUIMessages } from 'ai';

class Transport extends DefaultChatTransport {
  decode(bytes) {
    return this.processResponseStream(bytes);
  }
}

async function reduce(text) {
  const errors = [];
  const told = { chunks: 0, message: null, errors, refused: null };
  const counted = new TransformStream({
    transform(chunk, controller) {
      told.chunks += 1;
      controller.enqueue(chunk);
    },
  });
  const bytes = new Blob([text]).stream();
  const stream = new Transport({ api: 'http://127.0.0.1/' }).decode(bytes).pipeThrough(counted);
  const onError = error => errors.push(error.message);
  try {
    for await (const message of readUIMessageStream({ stream, onError })) told.message = message;
  } catch (error) {
    told.refused = String(error);
  }
  return told;
}

const results = [];
for (const { name, stream, stored } of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  const told = await reduce(stream);
  const valid = stored && (await safeValidateUIMessages({ messages: [stored] }));
  results.push({ name, ...told, invalid: valid && !valid.success ? String(valid.error) : null });
}
process.stdout.write(JSON.stringify(results));
