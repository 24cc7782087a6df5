import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { joinTexts } from '../base/messages.ts'

const PARTS_LIMIT = 100
/** Limit of pending messages per session. Older ones were answered long ago. */
const WAITING_LIMIT = 20
/** Separates the texts of one message, or of several messages in one turn. */
export const BLANK_LINE = '\n\n'

/** A user message without a turn. */
export interface Prompt {
  readonly id: string
  /** When the message was sent, epoch milliseconds. */
  readonly at: number
  readonly agent: unknown
  readonly model: unknown
  text: string | undefined
}

/** Returns the user's text. Parts added by opencode, such as files it has read, are marked synthetic and excluded. */
export function promptText(parts: unknown): string | undefined {
  return joinTexts(
    elementsOf(parts, PARTS_LIMIT)
      .filter(part => peek(part, 'type') === 'text' && peek(part, 'synthetic') !== true)
      .map(part => textOf(peek(part, 'text'))),
    BLANK_LINE,
  )
}

/** User messages without a turn. A turn takes all messages sent before it. */
export class Prompts {
  #waiting: Prompt[] = []

  /** @param message from `chat.message`, or from `message.updated`, which repeats it */
  add(id: string, at: number, message: unknown, text: string | undefined): void {
    const known = this.#waiting.find(prompt => prompt.id === id)
    if (known !== undefined) {
      known.text ??= text
      return
    }
    this.#waiting.push({ id, at, agent: peek(message, 'agent'), model: peek(message, 'model'), text })
    if (this.#waiting.length > WAITING_LIMIT) this.#waiting.shift()
  }

  /** Adds a separately emitted text part of a message without `chat.message`. */
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

  /** Removes and returns the messages up to and including this one; none if it is not pending. */
  takeUpTo(id: string): readonly Prompt[] {
    const index = this.#waiting.findIndex(prompt => prompt.id === id)
    return this.#waiting.splice(0, index + 1)
  }
}
