export function median(values) {
  return quantile(values, 0.5)
}

export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

export const oneDecimal = value => value.toFixed(1)
export const twoDecimals = value => value.toFixed(2)
