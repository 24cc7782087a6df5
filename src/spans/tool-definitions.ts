import type { SafeText } from '../content/capture.ts'
import { elementsOf, isArray, numberOf, peek, textOf } from '../contract/foreign.ts'
import type { ApiStart } from '../contract/index.ts'
import { requestBody } from './request-parameters.ts'
import type { Draw } from './span-definition.ts'

/** More tools than this no model is offered with any use; the count says all of them. */
const DEFINITIONS_LIMIT = 256

/** How many tools a request offers: what the host says, else those that it sends. */
export function toolCount(payload: ApiStart): number | undefined {
  const said = numberOf(payload.tool_count)
  const tools = said === undefined ? peek(requestBody(payload), 'tools') : undefined
  const count = said ?? (isArray(tools) ? numberOf(peek(tools, 'length')) : undefined)
  return count === undefined ? undefined : Math.trunc(count)
}

/**
 * The tools that a request offers, by name: their descriptions and parameters are the same from request to request, and
 * larger than all the rest of it.
 */
export function toolDefinitions(payload: ApiStart, draw: Draw): SafeText | undefined {
  const named = elementsOf(peek(requestBody(payload), 'tools'), DEFINITIONS_LIMIT).flatMap(tool => {
    const name = draw.capture.id(peek(peek(tool, 'function'), 'name') ?? peek(tool, 'name'))
    const type = draw.capture.id(textOf(peek(tool, 'type'))) ?? 'function'
    return name === undefined ? [] : [{ type, name }]
  })
  return named.length === 0 ? undefined : draw.capture.json(named)
}
