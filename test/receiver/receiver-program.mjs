// A recorder in a process of its own, which can be killed. A line of JSON on standard input is what it is to do; a line on
// standard output says that it is done.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'

const { env, home, stateDirectory, dieAt } = JSON.parse(process.argv[2])

const die = () => process.kill(process.pid, 'SIGKILL')

/** A method by another name would never be called: the process would live, and its test would wait for its end. */
function replaced({ name, prototype }, method, by) {
  if (typeof prototype[method] !== 'function') throw new Error(`${name} has no method ${method}`)
  prototype[method] = by
}

/** @type {Record<string, () => Promise<void>>} the steps of taking over, at each of which it may be killed */
const DYING = {
  // Read again, and nothing of it written.
  read: async () => {
    const { Continuation } = await import('../../build/delivery/trace-log/continuation.js')
    replaced(Continuation, 'endReplay', die)
  },
  // Noted in the log; nothing of what the one before has left is taken over.
  noted: async () => {
    const { Continuation } = await import('../../build/delivery/trace-log/continuation.js')
    const { afterReplay } = Continuation.prototype
    replaced(Continuation, 'afterReplay', function () {
      afterReplay.call(this, die)
    })
  },
  // In the middle of taking it over: a checkpoint is renamed already.
  adopting: async () => {
    const { renameSync } = fs
    fs.renameSync = (from, to) => {
      renameSync(from, to)
      if (String(to).includes('/spool/') && !String(from).endsWith('.tmp')) die()
    }
    syncBuiltinESMExports()
  },
}

if (dieAt !== undefined) await DYING[dieAt]()

const lines = []
const say = line => lines.push(line)
const { openRecorder } = await import('../../build/receiver/recorder.js')
const recorder = await openRecorder({ env, home, stateDirectory, report: { warn: say, error: say, debug: () => {} } })

/** Everything is journalled and worked off, and nothing more is waited for. */
async function worked() {
  while (recorder.waiting > 0) await turn()
}

const ORDERS = {
  take: told => {
    for (const one of told) recorder.recordEvent(one)
  },
  worked,
  flush: () => recorder.flush(),
  openTurns: () => recorder.openTurns,
  stats: () => recorder.stats(),
  lines: () => lines,
  close: how => recorder.close(how),
  die,
  exit: () => process.exit(0),
  throw: () => void setImmediate(() => JSON.parse('{')),
}

process.stdout.write('{}\n')
for await (const line of createInterface({ input: process.stdin })) {
  const { order, given } = JSON.parse(line)
  const answer = await ORDERS[order](given)
  process.stdout.write(`${JSON.stringify({ answer })}\n`)
}
