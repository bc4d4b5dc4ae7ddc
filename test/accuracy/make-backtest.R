# Remakes backtest.json: forecasts of R's forecast package for the series of backtest.ts, whose known parts come in
# as lines of "name<tab>value<tab>value...". Run from the project's root:
#   node bin/runtime.js test/accuracy/backtest-series.ts | Rscript test/accuracy/make-backtest.R > test/accuracy/backtest.json
suppressMessages(library(forecast))
horizon <- 18
num <- function(x) paste0('[', paste(formatC(as.numeric(x), digits = 8, width = 1, format = 'g'), collapse = ', '), ']')

# The benchmark of the M4 competition: the naive forecast of the series without its seasons, where it has any.
naive2 <- function(y) {
  r <- acf(y, lag.max = 12, plot = FALSE)$acf[-1]
  seasonal <- length(y) >= 36 && abs(r[12]) > 1.645 * sqrt((1 + 2 * sum(r[-12]^2)) / length(y))
  if (!seasonal) return(naive(y, h = horizon, level = 95))
  index <- tail(decompose(y, type = 'multiplicative')$seasonal, 12)
  f <- naive(y / decompose(y, type = 'multiplicative')$seasonal, h = horizon, level = 95)
  by <- rep(as.numeric(index), length.out = horizon)
  list(mean = f$mean * by, lower = f$lower * by, upper = f$upper * by)
}
methods <- list(
  'ETS, additive (R)' = function(y) forecast(ets(y, additive.only = TRUE), h = horizon, level = 95),
  'ETS, all forms (R)' = function(y) forecast(ets(y), h = horizon, level = 95),
  'Theta (R)' = function(y) thetaf(y, h = horizon, level = 95),
  'ARIMA (R)' = function(y) forecast(auto.arima(y), h = horizon, level = 95),
  'seasonal naive' = function(y) snaive(y, h = horizon, level = 95),
  'Naive 2' = naive2
)
lines <- strsplit(readLines(file('stdin')), '\t')
series <- lapply(lines, function(parts) ts(as.numeric(parts[-1]), frequency = 12))
names(series) <- sapply(lines, function(parts) parts[1])
cat('{\n"forecast": "', as.character(packageVersion('forecast')), '",\n"methods": {\n', sep = '')
for (m in names(methods)) {
  rows <- sapply(names(series), function(name) {
    f <- methods[[m]](series[[name]])
    paste0('"', name, '": {"mean": ', num(f$mean), ', "low": ', num(f$lower), ', "high": ', num(f$upper), '}')
  })
  cat('"', m, '": {\n', paste(rows, collapse = ',\n'), '\n}', if (m != 'Naive 2') ',', '\n', sep = '')
}
cat('}\n}\n')
