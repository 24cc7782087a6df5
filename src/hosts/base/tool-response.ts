import { isArray, peek } from '../../contract/foreign.ts'
import { plainCopy } from '../../hooks/frozen-copy.ts'
import { isAllText, wholeText, withText } from './content-text.ts'

/** A shape in which tools of Claude Code answer, and where the text is that the model gets. */
interface Shape {
  /** Undefined: it is another shape. */
  seen(response: unknown): string | undefined
  said(response: unknown, text: string): unknown
}

const SHAPES: readonly Shape[] = [
  { seen: response => (typeof response === 'string' ? response : undefined), said: (_, text) => text },
  // Tools of MCP servers.
  { seen: response => (isArray(response) && isAllText(response) ? wholeText(response) : undefined), said: withText },
  {
    // Shells: the model gets both.
    seen: response => {
      const [out, error] = [peek(response, 'stdout'), peek(response, 'stderr')]
      if (typeof out !== 'string' || typeof error !== 'string') return undefined
      return error === '' ? out : `${out}\n${error}`
    },
    said: (response, stdout) => ({ ...(response as object), stdout, stderr: '' }),
  },
  {
    // Reading of a text file.
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

/** What a tool has answered: as text where that is known, else as it is. */
export function resultSeen(response: unknown): unknown {
  return shapeOf(response)?.seen(response) ?? response
}

/** The answer in the shape of the tool. Claude Code drops any other one, and the model gets the old answer. */
export function resultSaid(response: unknown, value: unknown): unknown {
  const shape = shapeOf(response)
  return shape === undefined || typeof value !== 'string' ? plainCopy(value) : shape.said(response, value)
}

export function hasKnownShape(response: unknown): boolean {
  return shapeOf(response) !== undefined
}

function shapeOf(response: unknown): Shape | undefined {
  return SHAPES.find(({ seen }) => seen(response) !== undefined)
}
