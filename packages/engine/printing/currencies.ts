/** The sign of each currency that a `fmt` code names. */
export const CURRENCIES: Record<string, string> = {
  usd: '$',
  aud: 'A$',
  brl: 'R$',
  cad: 'C$',
  chf: 'CHF ',
  cny: '¥',
  eur: '€',
  gbp: '£',
  inr: '₹',
  jpy: '¥',
  krw: '₩',
  ngn: '₦',
  rub: '₽',
  sek: 'kr ',
}
