import type { CommandOption, CommandPage } from './options.ts'

/** The minimum width of terminals. */
const COLUMNS = 80
const HELP: readonly (readonly [string, CommandOption])[] = [['help', { short: 'h', help: 'print this help' }]]

export function helpText(command: CommandPage): string {
  const parts = [usageLine(command), paragraphs(command.about), optionList(command), paragraphs(command.closing ?? '')]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

export function usageLine({ name, operand }: Pick<CommandPage, 'name' | 'operand'>): string {
  return `Usage: hookspan ${[name, ...(operand === undefined ? [] : [operand.placeholder]), '[OPTIONS]'].join(' ')}`
}

/** Wraps paragraphs separated by blank lines. A paragraph that starts with a space is a list and is kept as it is. */
function paragraphs(text: string): string {
  const parts = text.split(/\n{2,}/).map(part => (part.startsWith(' ') ? [part] : wrapped(part, COLUMNS)))
  return parts.map(lines => lines.join('\n')).join('\n\n')
}

function optionList({ options }: Pick<CommandPage, 'options'>): string {
  const rows = [...Object.entries(options), ...HELP]
  const width = Math.max(...rows.map(row => spelling(row).length))
  return rows.flatMap(row => optionLines(spelling(row).padEnd(width), row[1])).join('\n')
}

function spelling([name, { short, value }]: readonly [string, CommandOption]): string {
  const both = `${short === undefined ? '    ' : `-${short}, `}--${name}`
  return value === undefined ? both : `${both} ${value}`
}

function optionLines(left: string, { help, default: fallback, many }: CommandOption): string[] {
  const text = `${help}${fallback === undefined ? '' : ` (default ${fallback})`}${many === true ? '; may be given more than once' : ''}`
  const indent = ' '.repeat(left.length + 4)
  return wrapped(text, COLUMNS - indent.length).map((line, index) =>
    index === 0 ? `  ${left}  ${line}` : indent + line,
  )
}

export function wrapped(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
