import { isArray, peek } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { isAllText, wholeText, withText } from './content-text.ts'

/** A response shape of Claude Code's tools, and the text in it that the model receives. */
interface Shape {
  /** Returns undefined if the response has another shape. */
  seen(response: unknown): string | undefined
  said(response: unknown, text: string): unknown
}

const SHAPES: readonly Shape[] = [
  { seen: response => (typeof response === 'string' ? response : undefined), said: (_, text) => text },
  // Tools of MCP servers.
  { seen: response => (isArray(response) && isAllText(response) ? wholeText(response) : undefined), said: withText },
  {
    // Shells: the model receives both streams.
    seen: response => {
      const [out, error] = [peek(response, 'stdout'), peek(response, 'stderr')]
      if (typeof out !== 'string' || typeof error !== 'string') return undefined
      return error === '' ? out : `${out}\n${error}`
    },
    said: (response, stdout) => ({ ...(response as object), stdout, stderr: '' }),
  },
  {
    // Reads of text files.
    seen: response => {
      const text = peek(peek(response, 'file'), 'content')
      return typeof text === 'string' && peek(response, 'type') === 'text' ? text : undefined
    },
    said: (response, content) => ({
      ...(response as object),
      file: { ...(peek(response, 'file') as object), content },
    }),
  },
  {
    seen: response => {
      const content = peek(response, 'content')
      return isAllText(content) ? wholeText(content) : undefined
    },
    said: (response, text) => {
      const content = peek(response, 'content')
      return { ...(response as object), content: typeof content === 'string' ? text : withText(content, text) }
    },
  },
]

/** The response of a tool, as text if its shape is known, otherwise unchanged. */
export function resultText(response: unknown): unknown {
  return shapeOf(response)?.seen(response) ?? response
}

/**
 * Builds a response in the shape of the tool. Claude Code ignores any other shape, and the model receives the original response.
 */
export function resultInShape(response: unknown, value: unknown): unknown {
  const shape = shapeOf(response)
  return shape === undefined || typeof value !== 'string' ? plainCopy(value) : shape.said(response, value)
}

export function hasKnownShape(response: unknown): boolean {
  return shapeOf(response) !== undefined
}

function shapeOf(response: unknown): Shape | undefined {
  return SHAPES.find(({ seen }) => seen(response) !== undefined)
}
