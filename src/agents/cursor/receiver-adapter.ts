import { peek, textOf } from '../../contract/foreign.ts'
import type { ReceiverAdapter } from '../receiver-adapter.ts'

/** Event name for a body without a hook name, counted as ignored. */
const UNNAMED = 'unnamed'

/** Hooks of Cursor. Its command line and its editor spell the name field differently. */
export const cursor: ReceiverAdapter = {
  events: ({ body, at }) => {
    if (typeof body !== 'object' || body === null) return []
    const event = textOf(peek(body, 'hook_event_name')) ?? textOf(peek(body, 'hookEventName')) ?? UNNAMED
    return [{ event, at, data: body }]
  },
}
