import { peek, textOf } from '../../contract/foreign.ts'
import type { Inlet } from '../inlet.ts'

/** Of a body that names no hook: it is counted as ignored. */
const UNNAMED = 'unnamed'

/** Hooks of Cursor. Its command line spells the field otherwise than its editor. */
export const cursor: Inlet = {
  events: ({ body, at }) => {
    if (typeof body !== 'object' || body === null) return []
    const event = textOf(peek(body, 'hook_event_name')) ?? textOf(peek(body, 'hookEventName')) ?? UNNAMED
    return [{ event, at, data: body }]
  },
}
