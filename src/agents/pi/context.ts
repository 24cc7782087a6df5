import { booleanOf, peek, textOf } from '../../contract/foreign.ts'

/** The selected model. An internal request of Pi, such as a summary, may use another one. */
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

/** Pi's mode: `tui`, `print`, `rpc`, `json`. */
export function platformOf(context: unknown): string | undefined {
  return textOf(peek(context, 'mode'))
}

export function isAborted(context: unknown): boolean {
  return booleanOf(peek(context, 'aborted')) === true
}
