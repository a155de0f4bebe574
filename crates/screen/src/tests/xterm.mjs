// Lets xterm.js read pairs of streams and tells what each of them has made of it.
//
//   node xterm.mjs PAIRS.json
//
// PAIRS.json is a list of { name, columns, lines, streams: [whole, rebuilt] }, the streams in base64. Prints
// one JSON list of { name, told: [[line…], [line…]] }: everything that the terminal shows of itself, a cell or
// a switch for each line. It compares nothing.
import { readFileSync } from 'node:fs';
import xterm from '@xterm/headless';

const attributes = [
  'isBold', 'isItalic', 'isDim', 'isUnderline', 'isBlink', 'isInverse', 'isInvisible', 'isStrikethrough',
  'getFgColorMode', 'getFgColor', 'getBgColorMode', 'getBgColor',
];

function cells(name, buffer, told) {
  for (let y = 0; y < buffer.length; y += 1) {
    const line = buffer.getLine(y);
    if (line.isWrapped) told.push(`${name} ${y} wrapped`);
    for (let x = 0; x < line.length; x += 1) {
      const cell = line.getCell(x);
      const letters = cell.getChars().trimEnd();
      const drawn = attributes.map(attribute => Number(cell[attribute]()));
      // A cell that was never written and a blank one look alike.
      if (letters || drawn.some(number => number !== 0 && number !== -1)) {
        told.push(`${name} ${y},${x} ${cell.getWidth()} ${letters} ${drawn}`);
      }
    }
  }
  told.push(`${name} length ${buffer.length}`);
}

async function read(columns, lines, stream) {
  const terminal = new xterm.Terminal({
    cols: columns, rows: lines, scrollback: 10000, allowProposedApi: true, logLevel: 'off',
  });
  await new Promise(done => terminal.write(Buffer.from(stream, 'base64'), done));
  const told = [];
  cells('main', terminal.buffer.normal, told);
  if (terminal.buffer.active.type === 'alternate') cells('alternate', terminal.buffer.alternate, told);
  told.push(`shown ${terminal.buffer.active.type}`);
  told.push(`cursor ${terminal.buffer.active.cursorX},${terminal.buffer.active.cursorY}`);
  const { modes } = terminal;
  for (const mode of [
    'applicationCursorKeysMode', 'applicationKeypadMode', 'bracketedPasteMode', 'insertMode', 'mouseTrackingMode',
    'originMode', 'sendFocusMode', 'wraparoundMode',
  ]) told.push(`${mode} ${modes[mode]}`);
  terminal.dispose();
  return told;
}

const results = [];
for (const { name, columns, lines, streams } of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  const told = [];
  for (const stream of streams) told.push(await read(columns, lines, stream));
  results.push({ name, told });
}
process.stdout.write(JSON.stringify(results));
