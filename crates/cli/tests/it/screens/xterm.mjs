// xterm.js as a terminal that is told bytes and tells what it has made of them.
//
// Reads one JSON request a line and answers each with one line:
//
//   { op: "open", columns, lines }   → { terminal }          "plain: true" leaves its own mistakes in
//   { op: "write", terminal, data }  → { answers, screen }   data and answers in base64
//   { op: "tell", terminal }         → { told: [line…] }     everything it knows, a cell or a switch a line
//
// It compares nothing.
import { createInterface } from 'node:readline';
import xterm from '@xterm/headless';

const attributes = [
  'isBold', 'isItalic', 'isDim', 'isUnderline', 'isBlink', 'isInverse', 'isInvisible', 'isStrikethrough', 'isOverline',
  'getFgColorMode', 'getFgColor', 'getBgColorMode', 'getBgColor',
];

// Where xterm.js is alone among terminals, a snapshot cannot be right for it and for them. So it is mended there,
// and nowhere else; the test of these cases fails once one is no longer needed.

/** Erasing a row from its first cell makes it forget that the text of the row before goes on there. */
function keepWrapped(terminal) {
  const { _bufferService: buffers, _inputHandler: handler } = terminal._core;
  for (const [final, erase] of [['K', 'eraseInLine'], ['J', 'eraseInDisplay']]) {
    terminal.parser.registerCsiHandler({ final }, ([which]) => {
      const line = buffers.buffer.lines.get(buffers.buffer.ybase + buffers.buffer.y);
      if (which || buffers.buffer.x !== 0 || !line.isWrapped) return false;
      handler[erase]({ params: [0] });
      line.isWrapped = true;
      return true;
    });
  }
}

/** A saved cursor scrolls along with the text, so that it comes back elsewhere. */
function keepSaved(terminal) {
  const { _bufferService: buffers, _inputHandler: handler } = terminal._core;
  const { saveCursor, restoreCursor, softReset } = handler;
  handler.saveCursor = (...args) => {
    buffers.buffer.savedRow = buffers.buffer.y;
    return saveCursor.apply(handler, args);
  };
  handler.restoreCursor = (...args) => {
    buffers.buffer.savedY = buffers.buffer.ybase + (buffers.buffer.savedRow ?? 0);
    return restoreCursor.apply(handler, args);
  };
  handler.softReset = (...args) => {
    buffers.buffer.savedRow = 0;
    return softReset.apply(handler, args);
  };
}

/** The set of lines has a blank in place of the underscore. All terminals share the table. */
async function mendLines() {
  const probe = new xterm.Terminal({ allowProposedApi: true });
  await new Promise(done => probe.write('\x1b(0', done));
  probe._core._charsetService.charset._ = ' ';
}

const spell = (attribute, value) => (attribute.startsWith('is') ? Number(Boolean(value)) : value);

/** Spells how a cell or a pen looks; empty when it looks as usual. */
function look(core, cell) {
  const drawn = attributes.map(attribute => spell(attribute, cell[attribute]()));
  const words = drawn.some(number => number !== 0 && number !== -1) ? [drawn.join(' ')] : [];
  const { underlineStyle, urlId } = cell.extended;
  // A restored pen has lost the style of its underline there, and draws a single one.
  if (cell.isUnderline()) words.push(`underline ${underlineStyle || 1} ${cell.getUnderlineColor()}`);
  if (cell.hasExtendedAttrs() && urlId) {
    // Which number it gave to a link without a name is its own affair.
    const { id, uri } = core._oscLinkService.getLinkData(urlId);
    words.push(`link ${id ?? ''} ${uri}`);
  }
  return words.join(', ');
}

function cells(name, core, buffer, raw, told) {
  // Lines count from the top of the screen, so that scrollback above it is below zero.
  for (let y = 0; y < buffer.length; y += 1) {
    const line = buffer.getLine(y);
    const at = y - buffer.baseY;
    // The first line of all goes on from none.
    if (line.isWrapped && y !== 0) told.push(`${name} ${at} wrapped`);
    for (let x = 0; x < line.length; x += 1) {
      const cell = line.getCell(x);
      // A cell that was never written and a blank one look alike.
      const letters = cell.getChars().trimEnd();
      const looks = look(core, cell);
      if (letters || looks) told.push(`${name} ${at},${x} ${cell.getWidth()} ${letters} ${looks}`);
    }
  }
  told.push(`${name} scrolled ${buffer.baseY}`);
  told.push(`${name} saved ${raw.savedX},${raw.savedRow ?? 0} ${look(core, raw.savedCurAttrData)}`);
}

function tell({ terminal, title }) {
  const core = terminal._core;
  const { active, normal, alternate } = terminal.buffer;
  const { buffers, buffer } = core._bufferService;
  const told = [];
  cells('main', core, normal, buffers.normal, told);
  if (active.type === 'alternate') cells('alternate', core, alternate, buffers.alt, told);
  told.push(`shown ${active.type}`, `title ${title}`);
  told.push(`cursor ${active.cursorX},${active.cursorY} hidden ${core.coreService.isCursorHidden}`);
  told.push(`pen ${look(core, core._inputHandler._curAttrData)}`);
  told.push(`margins ${buffer.scrollTop},${buffer.scrollBottom}`, `tabs ${Object.keys(buffer.tabs)}`);
  const { decPrivateModes, modes } = core.coreService;
  const { cursorBlink, cursorStyle } = terminal.options;
  for (const [mode, value] of Object.entries({ ...decPrivateModes, ...modes })) {
    // What no program has set is as the person wants it.
    const shown = value ?? { cursorBlink, cursorStyle }[mode];
    // Nobody is left inside a frame that is being drawn.
    if (mode !== 'synchronizedOutput') told.push(`${mode} ${shown}`);
  }
  told.push(`newline ${terminal.options.convertEol}`);
  told.push(`mouse ${core.coreMouseService.activeProtocol} ${core.coreMouseService.activeEncoding}`);
  const { glevel, charset } = core._charsetService;
  told.push(`set ${glevel} ${charset ? Object.keys(charset).length : 0}`);
  return told;
}

const terminals = new Map();
const requests = {
  async open({ columns: cols, lines: rows, plain }) {
    const options = { cols, rows, scrollback: 10000, allowProposedApi: true, logLevel: 'off' };
    const opened = { terminal: new xterm.Terminal(options), title: '', answers: [] };
    opened.terminal.onData(text => opened.answers.push(Buffer.from(text, 'utf8')));
    opened.terminal.onBinary(text => opened.answers.push(Buffer.from(text, 'binary')));
    opened.terminal.onTitleChange(title => { opened.title = title; });
    if (!plain) {
      keepWrapped(opened.terminal);
      keepSaved(opened.terminal);
      await mendLines();
    }
    const name = terminals.size;
    terminals.set(name, opened);
    return { terminal: name };
  },
  async write({ terminal: name, data }) {
    const opened = terminals.get(name);
    await new Promise(done => opened.terminal.write(Buffer.from(data, 'base64'), done));
    const answers = Buffer.concat(opened.answers.splice(0)).toString('base64');
    const { active } = opened.terminal.buffer;
    const lines = Array.from({ length: opened.terminal.rows }, (_, y) => active.getLine(active.baseY + y));
    return { answers, screen: lines.map(line => line.translateToString(true)).join('\n') };
  },
  tell: ({ terminal: name }) => ({ told: tell(terminals.get(name)) }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await requests[request.op](request))}\n`);
}
