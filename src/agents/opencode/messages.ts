import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { joinTexts } from '../base/messages.ts'

const PARTS_LIMIT = 100
const PENDING_LIMIT = 20
export const BLANK_LINE = '\n\n'

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
  #pending: Prompt[] = []

  /** @param message from `chat.message`, or from `message.updated`, which repeats it */
  add(id: string, at: number, message: unknown, text: string | undefined): void {
    const known = this.#pending.find(prompt => prompt.id === id)
    if (known !== undefined) {
      known.text ??= text
      return
    }
    this.#pending.push({ id, at, agent: peek(message, 'agent'), model: peek(message, 'model'), text })
    if (this.#pending.length > PENDING_LIMIT) this.#pending.shift()
  }

  addText(part: unknown): void {
    const id = idOf(peek(part, 'messageID'))
    const prompt = this.#pending.find(waiting => waiting.id === id)
    if (prompt !== undefined) prompt.text ??= promptText([part])
  }

  has(id: string): boolean {
    return this.#pending.some(prompt => prompt.id === id)
  }

  get last(): Prompt | undefined {
    return this.#pending.at(-1)
  }

  removeUpTo(id: string): readonly Prompt[] {
    const index = this.#pending.findIndex(prompt => prompt.id === id)
    return this.#pending.splice(0, index + 1)
  }
}
