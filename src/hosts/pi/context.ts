import { booleanOf, peek, textOf } from '../../contract/foreign.ts'

/** The model that is selected. A request of Pi's own, such as a summary, may be made with another one. */
export interface ModelFacts {
  readonly model: unknown
  readonly provider: unknown
  readonly api_mode: unknown
  readonly base_url: unknown
}

export function modelOf(context: unknown): ModelFacts {
  const model = peek(context, 'model')
  return {
    model: peek(model, 'id'),
    provider: peek(model, 'provider'),
    api_mode: peek(model, 'api'),
    base_url: peek(model, 'baseUrl'),
  }
}

/** How Pi is used: `tui`, `print`, `rpc`, `json`. */
export function platformOf(context: unknown): string | undefined {
  return textOf(peek(context, 'mode'))
}

/** Whether the person has stopped the run. */
export function isAborted(context: unknown): boolean {
  return booleanOf(peek(context, 'aborted')) === true
}
