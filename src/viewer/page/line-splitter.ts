/** Splits chunks of a stream into whole lines, without blank ones. */
export class TextLineSplitter {
  #rest = ''

  splitChunk(piece: string): string[] {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    return lines.filter(line => line.trim() !== '')
  }
}
