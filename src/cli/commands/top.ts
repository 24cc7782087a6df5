import { stateHome } from '../../plugin/config/paths.ts'
import { type OpenTurn, openTurnJson } from '../../reading/open-turns.ts'
import { renderTop, type TopOptions } from '../../reading/open-turns-text.ts'
import { clipSegments, paintLine, segment } from '../../reading/segments.ts'
import { asOf, type TraceTree } from '../../reading/trace-forest.ts'
import { summarize } from '../../reading/trace-summary.ts'
import { treeRows } from '../../reading/tree-rows.ts'
import { HEADER_LINES, renderTree } from '../../reading/tree-text.ts'
import { type Command, type CommandIo, command, EXIT } from '../command.ts'
import { OpenTraces } from '../open-traces.ts'
import { isRedrawable, lookOf, StatusArea, statusRows, waitForPoll } from '../terminal.ts'
import { spanPricer } from '../traces.ts'

interface TopData {
  readonly open: readonly OpenTurn[]
  /** Newest first. */
  readonly ended: readonly TraceTree[]
}

type Look = Omit<TopOptions, 'selectedId' | 'ended'>

const SEQUENCES = {
  up: ['\u001b[A', '\u001bOA', 'k'],
  down: ['\u001b[B', '\u001bOB', 'j'],
  enter: ['\r', '\n'],
  escape: ['\u001b', '\u001b[D'],
  backspace: ['\u007f', '\b'],
}
const KEYS = new Map(Object.entries(SEQUENCES).flatMap(([name, keys]) => keys.map(key => [key, name])))
const QUIT: ReadonlySet<string> = new Set(['q', '\u0003', '\u0004'])
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the sequences of keys
const KEY = /\u001b(?:\[[\d;]*[A-Za-z~]|O[A-Z])?|./gsu
const MAX_SEARCH_CHARS = 100

export class TopScreen {
  #data: TopData = { open: [], ended: [] }
  #selectedId: string | undefined
  #isWaitingOnly = false
  #search = ''
  #isTyping = false
  /** The first line of the tree that is shown (undefined in the list), and of the error that `e` went to (-1: none yet). */
  #from: number | undefined
  #errorLine = -1
  #look: Look = { width: 80, color: false, now: 0, maxLines: 24 }

  /** Handles the bytes of one or more keys. @returns false if the user quits */
  press(input: string): boolean {
    for (const [key] of input.matchAll(KEY)) {
      if (this.#isTyping ? key === '\u0003' : QUIT.has(key)) return false
      this.#handle(key)
    }
    return true
  }

  render(data: TopData, look: Look): string[] {
    this.#data = data
    this.#look = look
    const tree = this.#from === undefined ? undefined : this.#selected()
    return tree === undefined ? this.#renderList() : this.#renderTree(tree)
  }

  #handle(key: string): void {
    if (this.#isTyping) this.#type(key)
    else if (this.#from !== undefined) this.#handleInTree(KEYS.get(key) ?? key, this.#from)
    else this.#handleInList(KEYS.get(key) ?? key)
  }

  #type(key: string): void {
    const name = key.length > 1 || key < ' ' || key === '\u007f' ? KEYS.get(key) : undefined
    if (name === 'escape') this.#search = ''
    if (name === 'escape' || name === 'enter') this.#isTyping = false
    else if (name === 'backspace') this.#search = [...this.#search].slice(0, -1).join('')
    else if (name === undefined && key >= ' ') this.#search = (this.#search + key).slice(0, MAX_SEARCH_CHARS)
  }

  #handleInList(key: string): void {
    if (key === 'up') this.#move(-1)
    else if (key === 'down') this.#move(1)
    else if (key === 'enter') this.#openTree()
    else if (key === 'escape') this.#search = ''
    else if (key === '/') this.#isTyping = true
    else if (key === 'w') this.#isWaitingOnly = !this.#isWaitingOnly
    else if (key === 'e') this.#selectNextError()
  }

  #openTree(): void {
    const tree = this.#selected()
    if (tree === undefined) return
    // The selection stays with it when others begin or end.
    this.#selectedId = tree.traceId
    this.#from = 0
    this.#errorLine = -1
  }

  #handleInTree(key: string, from: number): void {
    if (key === 'escape') this.#from = undefined
    else if (key === 'e') this.#goToNextError()
    else if (key === 'up' || key === 'down') this.#from = from + (key === 'up' ? -1 : 1)
  }

  get #listed(): readonly { readonly traceId: string; readonly tree: TraceTree }[] {
    const { open, ended } = this.#matching()
    return [...open, ...ended.map(tree => ({ traceId: tree.traceId, tree }))]
  }

  #matching(): TopData {
    const wanted = this.#search.toLowerCase()
    const isFound = (tree: TraceTree): boolean =>
      wanted === '' || renderTree(tree, { width: SEARCHED_WIDTH }).toLowerCase().includes(wanted)
    return {
      open: this.#data.open.filter(({ state, tree }) => (!this.#isWaitingOnly || state === 'waiting') && isFound(tree)),
      ended: this.#isWaitingOnly ? [] : this.#data.ended.filter(isFound),
    }
  }

  #selected(): TraceTree | undefined {
    const listed = this.#listed
    return (listed.find(({ traceId }) => traceId === this.#selectedId) ?? listed[0])?.tree
  }

  #move(by: number): void {
    const listed = this.#listed
    const at = listed.findIndex(({ traceId }) => traceId === this.#selectedId)
    const next = Math.min(listed.length - 1, Math.max(0, Math.max(0, at) + by))
    this.#selectedId = listed[next]?.traceId
  }

  #selectNextError(): void {
    const listed = this.#listed
    const at = listed.findIndex(({ traceId }) => traceId === this.#selectedId)
    const others = [...listed.slice(at + 1), ...listed.slice(0, at + 1)]
    const next = others.find(({ tree }) => summarize(tree).errorCount > 0)
    this.#selectedId = next?.traceId ?? this.#selectedId
  }

  #goToNextError(): void {
    const tree = this.#selected()
    const rows = tree === undefined ? [] : treeRows(asOf(tree, this.#look.now))
    const lines = rows.flatMap(({ facts }, index) => (facts.isError ? [index + HEADER_LINES] : []))
    const next = lines.find(line => line > this.#errorLine) ?? lines[0]
    if (next === undefined) return
    this.#errorLine = next
    this.#from = next
  }

  #renderList(): string[] {
    const { open, ended } = this.#matching()
    const tree = this.#selected()
    const maxLines = this.#look.maxLines - 2
    const lines = renderTop(open, { ...this.#look, maxLines, selectedId: tree?.traceId, ended })
    return [...lines, '', this.#footer('↑↓ select · Enter tree · / search · e next error · w waiting only · q quit')]
  }

  #renderTree(tree: TraceTree): string[] {
    const { width, color, now, maxLines } = this.#look
    const lines = renderTree(tree, { width, color, now }).split('\n')
    const room = Math.max(1, maxLines - 1)
    const last = Math.max(0, lines.length - room)
    const from = Math.min(last, Math.max(0, this.#from ?? 0))
    this.#from = from
    return [...lines.slice(from, from + room), this.#footer('↑↓ scroll · e next error · Esc list · q quit')]
  }

  #footer(keys: string): string {
    const { color, width } = this.#look
    if (this.#isTyping) return paintLine([segment('plain', `/${this.#search}▏`)], color)
    const search = this.#search === '' ? '' : `/${this.#search} (Esc clears) · `
    const filters = segment('warn', `${search}${this.#isWaitingOnly ? 'waiting only · ' : ''}`)
    return paintLine(clipSegments([filters, segment('dim', keys)], width), color)
  }
}

const SEARCHED_WIDTH = 160

export const top: Command = command({
  name: 'top',
  about: `Shows what every agent on this machine is doing, from the local trace log: turn, current tool or request, duration, tokens
so far, and time since the last activity. Stalled turns (no activity for two minutes) come first, then those waiting for
approval, then running ones, and last those whose process has ended.

On a terminal it refreshes until q or Ctrl-C, lists the last five ended turns below, and has keys: arrows select a turn, Enter
opens its tree, / searches, e goes to the next error, w shows only waiting turns. In a pipe it prints once.`,
  options: { json: { help: 'one JSON object per open turn and line, once' } },
  async run({ values }, io) {
    const directory = stateHome(io.env, io.home)
    if (directory === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a full path')
    const traces = new OpenTraces(directory, spanPricer(io))
    if (!values.json && isRedrawable(io)) return watchTop(traces, io)
    const [now, look] = [io.now(), lookOf(io)]
    const turns = await traces.readOpenTurns(now)
    const lines = values.json
      ? turns.map(turn => openTurnJson(turn, now))
      : renderTop(turns, { ...look, now, maxLines: Number.POSITIVE_INFINITY })
    for (const line of lines) io.stdout.write(`${line}\n`)
    return EXIT.ok
  },
})

const ENDED_SHOWN = 5

export async function watchTop(
  traces: OpenTraces,
  io: CommandIo,
  pause: (interrupted: Promise<void>) => Promise<void> = waitForPoll,
): Promise<number> {
  const area = new StatusArea(io.stdout)
  const keys = io.stdin.isTTY === true ? openKeys(io) : undefined
  let isStopped = false
  const interrupted = Promise.race([io.interrupted(), io.hungUp()]).then(() => {
    isStopped = true
  })
  const screen = new TopScreen()
  let ended: readonly TraceTree[] = []
  let openIds: string | undefined
  const readEnded = async (): Promise<void> => {
    ended = await traces.readEnded(ENDED_SHOWN)
  }
  try {
    while (!isStopped) {
      const now = io.now()
      const { width, color } = lookOf(io)
      const look = { width: width - 1, color, now, maxLines: statusRows(io) }
      const open = await traces.readOpenTurns(now)
      if (keys === undefined) area.show(renderTop(open, look))
      else {
        const ids = open.map(({ traceId }) => traceId).join()
        // A turn has ended, or begun. Reading must not delay a key.
        if (ids !== openIds) void readEnded().catch(() => undefined)
        openIds = ids
        if (!screen.press(keys.drain())) break
        area.show(screen.render({ open, ended }, look))
      }
      await pause(keys === undefined ? interrupted : Promise.race([interrupted, keys.pressed()]))
    }
  } finally {
    keys?.close()
  }
  return EXIT.ok
}

/** The keys of a terminal. In raw mode, Ctrl-C is a key, too. */
function openKeys({ stdin }: CommandIo) {
  let input = ''
  let notify: () => void = () => undefined
  const receive = (chunk: Buffer | string): void => {
    input += String(chunk)
    notify()
  }
  stdin.setRawMode?.(true)
  stdin.on('data', receive)
  return {
    /** Resolves at the next key, or at once if there is one. */
    pressed: (): Promise<void> =>
      new Promise(resolve => {
        notify = resolve
        if (input !== '') resolve()
      }),
    drain(): string {
      const keys = input
      input = ''
      return keys
    },
    close(): void {
      stdin.off('data', receive)
      stdin.setRawMode?.(false)
      // A stream that flows would keep the process alive.
      stdin.pause()
    },
  }
}
