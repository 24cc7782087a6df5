/**
 * Loaded into a host that is being recorded: writes down every raw event that an adapter is told, a line each, as it was
 * at that moment.
 */
import { appendFileSync } from 'node:fs'

const path = process.env.HOOKSPAN_TAP_FILE

if (path !== undefined) {
  globalThis[Symbol.for('hookspan.tap')] = (_host, event) => {
    // Processes that this one starts are told of it no more: a fixture is what one process saw. Not before the first
    // event, because some hosts start themselves again.
    delete process.env.HOOKSPAN_TAP_FILE
    appendFileSync(path, `${lineOf(event)}\n`)
  }
}

function lineOf(event) {
  const at = event.at ?? Date.now()
  try {
    return JSON.stringify(Object.assign({ at }, event, { at }))
  } catch (error) {
    // Whoever records reads it in the fixture: a live object reached the adapter's event, which should be plain data.
    return JSON.stringify({ at, event: event.event, data: { unreadable: String(error) } })
  }
}
