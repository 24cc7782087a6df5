import { peek, textOf } from '../../contract/foreign.ts'
import type { ReceiverAdapter } from '../receiver-adapter.ts'

/**
 * Hooks of Cursor. Its command line and its editor spell the name field differently. A body without a hook name is
 * counted as ignored.
 */
export const cursor: ReceiverAdapter = {
  events: ({ body, at }) => {
    if (typeof body !== 'object' || body === null) return []
    const event = textOf(peek(body, 'hook_event_name')) ?? textOf(peek(body, 'hookEventName')) ?? 'unnamed'
    return [{ event, at, data: body }]
  },
}
