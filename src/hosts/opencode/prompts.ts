import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { joined } from '../base/messages.ts'

const PARTS_LIMIT = 100
/** Messages that a session may have waiting: those beyond are the oldest, and were answered long ago. */
const WAITING_LIMIT = 20
/** Between the texts of one message, or of several that one turn takes up. */
export const BLANK_LINE = '\n\n'

/** A message of the user that no turn has taken up yet. */
export interface Prompt {
  readonly id: string
  /** When it was said, epoch milliseconds. */
  readonly at: number
  readonly agent: unknown
  readonly model: unknown
  text: string | undefined
}

/** What the user wrote. Parts that opencode adds, as files that it has read, are marked synthetic and left out. */
export function promptText(parts: unknown): string | undefined {
  return joined(
    elementsOf(parts, PARTS_LIMIT)
      .filter(part => peek(part, 'type') === 'text' && peek(part, 'synthetic') !== true)
      .map(part => textOf(peek(part, 'text'))),
    BLANK_LINE,
  )
}

/** Messages of the user that wait for a turn: it takes up all that were said before it. */
export class Prompts {
  #waiting: Prompt[] = []

  /** @param message as `chat.message` hands it out, or as `message.updated` repeats it */
  add(id: string, at: number, message: unknown, text: string | undefined): void {
    const known = this.#waiting.find(prompt => prompt.id === id)
    if (known !== undefined) {
      known.text ??= text
      return
    }
    this.#waiting.push({ id, at, agent: peek(message, 'agent'), model: peek(message, 'model'), text })
    if (this.#waiting.length > WAITING_LIMIT) this.#waiting.shift()
  }

  /** A text part that came by itself, of a message that `chat.message` did not hand out. */
  supply(part: unknown): void {
    const id = idOf(peek(part, 'messageID'))
    const prompt = this.#waiting.find(waiting => waiting.id === id)
    if (prompt !== undefined) prompt.text ??= promptText([part])
  }

  has(id: string): boolean {
    return this.#waiting.some(prompt => prompt.id === id)
  }

  get last(): Prompt | undefined {
    return this.#waiting.at(-1)
  }

  /** Takes the messages up to and with this one; nothing when it does not wait here. */
  takeUpTo(id: string): readonly Prompt[] {
    const index = this.#waiting.findIndex(prompt => prompt.id === id)
    return this.#waiting.splice(0, index + 1)
  }
}
