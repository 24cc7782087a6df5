import { openSync, readdirSync, write, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { burst, HostScript } from './host-script.mjs'
import { seeded } from './seeded.mjs'

/**
 * An agent that does nothing but tell hooks, as a process that can be killed at any moment. Its options are one JSON
 * argument: those of `HostOptions`, `name`, `witness` (a path) and `module` (the path of hookspan's `index.js`).
 * Hookspan's own settings come from the environment.
 *
 * Before each hook is fired, a line `{at, hook, key}` is in the witness file, written synchronously: after a `kill -9`
 * it says what had been told and when. Lines `{at, hook: 'saved', key: <earlier time>}` say what could have been saved.
 */

const options = {
  work: 'stream',
  end: 'natural',
  hooksPerSecond: 400,
  sessions: 4,
  contentChars: 0,
  forMillis: Number.POSITIVE_INFINITY,
  turns: Number.POSITIVE_INFINITY,
  tools: 10_000,
  reportHooks: Number.POSITIVE_INFINITY,
  reports: Number.POSITIVE_INFINITY,
  lifeMillis: 110_000,
  ...JSON.parse(process.argv[2]),
}
const TICK_MILLIS = 5
/** Longer than `log_flush_ms`, which is 100. */
const TRIAL_MILLIS = 130
const TRIAL_WRITES = 3
const TRIAL_EVERY_MILLIS = 30

/** Of CPU time, which a busy machine does not take away: several times what loading takes that records. */
const LOADING_MILLIS = 500

/** One that nobody ends, not even a test that has died, must not stay for ever. */
setTimeout(() => process.exit(99), options.lifeMillis).unref()

const { createPlugin } = await import(pathToFileURL(options.module).href)
const plugin = createPlugin({ host: 'streaming-host' })
const cpuAtStart = process.cpuUsage()
let isLogOpen = false
const witness = openSync(options.witness, 'a', 0o600)
const trial = openSync(`${options.witness}.trial`, 'w', 0o600)
let turnsEnded = 0
/** With `keep`, nothing of a turn that is left open is delivered before the process ends. */
let isTurnOfChild = false
let reported = 0
let isOver = false

function bearWitness(at, hook, key) {
  writeSync(witness, `${JSON.stringify({ at, hook, key })}\n`)
}

/** Before it is, nothing can be saved: what a process tells while it is loading is lost with it. */
function canLogBeOpen() {
  const { user, system } = process.cpuUsage(cpuAtStart)
  if ((user + system) / 1000 > LOADING_MILLIS) return true
  try {
    const names = readdirSync(join(process.env.XDG_STATE_HOME, 'hookspan', 'traces'))
    return names.some(name => name.endsWith(`-${process.pid}.jsonl`))
  } catch {
    return false
  }
}

/** Does what a log has to do to save something, and takes longer: a timer, a turn of the loop, several writes. */
function trySaving() {
  isLogOpen ||= canLogBeOpen()
  if (!isLogOpen) return
  const since = Date.now()
  const save = left => {
    if (left === 0) bearWitness(Date.now(), 'saved', String(since))
    else write(trial, 'x'.repeat(4096), 0, () => save(left - 1))
  }
  setTimeout(() => setImmediate(save, TRIAL_WRITES), TRIAL_MILLIS).unref()
}

function fire({ hook, key, payload, alsoEnds = [] }) {
  const at = Date.now()
  for (const ended of alsoEnds) bearWitness(at, hook, ended)
  bearWitness(at, hook, key)
  void plugin.on(hook, payload, { at })
  if (hook !== 'on_session_end') return
  turnsEnded++
  isTurnOfChild = key.includes('.child.')
}

/** What a test reads: one JSON object a line. */
function say(what) {
  writeSync(1, `${JSON.stringify(what)}\n`)
}

function report() {
  globalThis.gc?.()
  const { heapUsed, rss, external } = process.memoryUsage()
  reported++
  say({ at: Date.now(), isOver, memory: { heapUsed, rss, external }, stats: plugin.stats() })
}

process.on('exit', report)
if (options.reportMillis) setInterval(report, options.reportMillis).unref()

function stream(script, over) {
  let startedAt = performance.now()
  let fired = 0
  let isPausing = false
  /** Reports when all that was told is written. */
  const reportInPause = async () => {
    const since = performance.now()
    isPausing = true
    await plugin.flush()
    report()
    isPausing = false
    startedAt += performance.now() - since
  }
  const timer = setInterval(() => {
    if (isPausing) return
    const elapsed = performance.now() - startedAt
    const due = (elapsed / 1000) * options.hooksPerSecond
    while (fired < due) {
      const isWorkDone = turnsEnded >= options.turns && !isTurnOfChild
      if (elapsed >= options.forMillis || isWorkDone || reported >= options.reports) {
        clearInterval(timer)
        over()
        return
      }
      const hook = script.next(performance.now())
      fired++
      if (hook !== undefined) fire(hook)
      if (fired % options.reportHooks === 0) return reportInPause()
    }
  }, TICK_MILLIS)
}

/** How a host can end. Those that end in an orderly way say so in the witness. */
const ENDS = {
  natural: () => bearWitness(Date.now(), 'end', ''),
  shutdown: async () => {
    bearWitness(Date.now(), 'end', '')
    await plugin.shutdown()
  },
  exit: () => {
    bearWitness(Date.now(), 'end', '')
    process.exit(0)
  },
  'exit in hook': () => {
    const turn = `${options.name}.last`
    const ids = { session_id: options.name, turn_id: turn, tool_call_id: turn, tool_name: 'terminal' }
    fire({ hook: 'on_session_start', key: `session ${turn}`, payload: ids })
    fire({ hook: 'pre_tool_call', key: `tool ${turn}`, payload: ids })
    const payload = Object.defineProperty({ ...ids, status: 'ok' }, 'result', { get: () => process.exit(7) })
    fire({ hook: 'post_tool_call', key: `tool ${turn}`, payload })
  },
  throw: () => {
    bearWitness(Date.now(), 'end', '')
    throw new Error('the host broke')
  },
  /** Goes on living until its standard input is closed. */
  stdin: () => {
    process.stdin.resume().once('end', () => bearWitness(Date.now(), 'end', ''))
  },
}

function end() {
  isOver = true
  report()
  ENDS[options.end]()
}

setInterval(trySaving, TRIAL_EVERY_MILLIS).unref()
say({ ready: true })
if (options.work === 'burst') {
  for (const hook of burst(options.name, options.tools, options.contentChars)) fire(hook)
  end()
} else {
  const { name, sessions, contentChars } = options
  stream(new HostScript({ random: seeded(options.seed), name, sessions, contentChars }), end)
}
