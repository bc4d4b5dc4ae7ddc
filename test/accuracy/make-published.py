"""Remakes published.json: answers of R and statsmodels at full precision, and the data they belong to.

Needs R with the packages forecast and strucchange, and statsmodels for Python. Run:
python3 make-published.py > published.json
Figures that were published by others (pyMannKendall, Rosner, Newcombe, ineq) stand here as they were printed.
"""
import json
import subprocess

import statsmodels
from statsmodels.stats.proportion import confint_proportions_2indep

R = r"""
suppressMessages({library(forecast); library(strucchange)})
num <- function(x) paste0('[', paste(ifelse(is.na(x), 'null', formatC(x, digits = 17, width = 1, format = 'g')), collapse = ', '), ']')
put <- function(name, x) cat('"', name, '": ', num(as.numeric(x)), '\n', sep = '')
cat('"r": "', R.version.string, '"\n', sep = '')
cat('"forecast": "', as.character(packageVersion('forecast')), '"\n', sep = '')
cat('"strucchange": "', as.character(packageVersion('strucchange')), '"\n', sep = '')
for (name in c('Nile', 'AirPassengers', 'USAccDeaths', 'nottem', 'wineind')) put(name, get(name))
put('sleep', sleep$extra)
t <- t.test(extra ~ group, data = sleep)
put('sleep_test', c(t$statistic, t$parameter, t$p.value, t$conf.int))
x <- c(44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1)
y <- c(2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8)
k <- cor.test(x, y)
put('cor_test', c(k$estimate, k$p.value, k$conf.int, cor(x, y, method = 'spearman')))
p <- prop.test(c(83, 129), c(86, 136), correct = FALSE)
put('prop_test', c(sqrt(p$statistic), p$p.value))
put('fisher_convictions', fisher.test(matrix(c(2, 10, 15, 3), 2))$p.value)
put('fisher_tea', fisher.test(matrix(c(3, 1, 1, 3), 2))$p.value)
put('nile_break', breakpoints(Nile ~ 1)$breakpoints)
put('ucb', c(UCBAdmissions['Admitted', 'Male', ], UCBAdmissions['Rejected', 'Male', ], UCBAdmissions['Admitted', 'Female', ], UCBAdmissions['Rejected', 'Female', ]))
rate <- function(sex) sum(UCBAdmissions['Admitted', sex, ]) / sum(UCBAdmissions[, sex, ])
put('ucb_rates', c(rate('Male'), rate('Female')))
put('wineind_outliers', tsoutliers(wineind)$index)
put('usaccdeaths_outliers', tsoutliers(USAccDeaths)$index)
put('airpassengers_outliers', tsoutliers(AirPassengers)$index)
s <- stl(nottem, s.window = 11)
put('nottem_stl', c(s$time.series[c(1, 60, 133, 240), 1:2]))
put('nile_quartiles', quantile(Nile))
h <- HoltWinters(co2)
d <- decompose(ts(co2[1:24], frequency = 12, start = start(co2)))
put('co2', co2)
put('holt_winters', c(h$alpha, h$beta, h$gamma))
put('holt_winters_fit', c(h$SSE, h$coefficients))
first <- h$fitted[1, ]
put('holt_winters_start', c(first['level'], first['trend'], h$fitted[1:12, 'season']))
for (name in c('Nile', 'USAccDeaths')) {
  seasonal <- if (name == 'Nile') 'N' else 'A'
  for (damped in c(FALSE, TRUE)) {
    f <- ets(get(name), model = paste0('AA', seasonal), damped = damped)
    key <- paste0('ets_', name, if (damped) '_damped' else '')
    value <- function(n) if (n %in% names(f$par)) f$par[[n]] else 0
    put(key, c(-2 * f$loglik, value('alpha'), value('beta'), value('gamma'), if (damped) value('phi') else 1))
    put(paste0(key, '_initial'), f$initstate)
    p <- forecast(f, h = 14)
    put(paste0(key, '_mean'), p$mean)
    put(paste0(key, '_high_95'), p$upper[, 2])
    put(paste0(key, '_sigma2'), f$sigma2)
  }
}
m <- lm(Employed ~ ., data = longley)
put('longley_p', summary(m)$coefficients[, 4])
a <- anova(lm(weight ~ feed, data = chickwts))
put('chickwts', chickwts$weight)
put('chickwts_feed', as.integer(chickwts$feed))
put('chickwts_anova', c(a[1, 'F value'], a[1, 'Pr(>F)'], a[1, 'Sum Sq'], a[2, 'Sum Sq']))
"""

parts = subprocess.run(["Rscript", "-e", R], capture_output=True, text=True, check=True).stdout.splitlines()
entries = dict(line.split(": ", 1) for line in parts if line.startswith('"'))
published = {name.strip('"'): json.loads(value) for name, value in entries.items()}
published["statsmodels"] = statsmodels.__version__
published["newcombe"] = [
    [a, n, b, m, *confint_proportions_2indep(a, n, b, m, method="newcomb", compare="diff")]
    for a, n, b, m in [(56, 70, 48, 80), (9, 10, 3, 10), (5, 56, 0, 29)]
]

# Monthly rainfall at Bogra, 1981 to 2010, and what pyMannKendall's own tests state for it (tests/test_pymannkendall.py).
published["bogra"] = [None if word == "NA" else int(word) for word in """
32 20 25 189 240 193 379 278 301 0 0 82 0 4 NA NA 121 234 360 262 120 30 11 1 7 3 31 31 355 102 248 274 308 NA
5 26 11 16 6 48 388 539 431 272 404 186 0 2 0 4 1 54 272 459 235 164 365 135 2 NA NA 4 0 128 210 163 446 225
462 467 19 13 0 3 17 132 178 338 525 623 145 31 19 3 0 29 25 87 259 756 486 180 292 43 92 1 0 16 2 0 130 253
594 111 273 30 0 4 0 27 24 41 292 378 499 265 320 227 4 0 4 14 8 48 416 240 404 207 733 105 0 112 0 14 0 30
140 202 289 159 424 106 3 0 65 3 14 58 268 466 432 266 240 95 1 0 10 26 4 114 94 289 173 208 263 156 5 0 16 16
14 0 111 475 534 432 471 117 70 1 3 28 7 401 184 283 338 171 335 176 0 0 10 11 9 140 102 208 298 245 220 29 2
27 10 13 26 84 143 367 749 563 283 353 10 0 0 0 0 9 246 265 343 429 168 133 17 0 18 35 76 158 272 250 190 289
466 84 0 0 0 0 0 22 217 299 185 115 344 203 8 NA NA 0 5 284 123 254 476 496 326 27 20 0 4 53 72 113 214 364
219 220 156 264 0 13 0 0 45 90 137 638 529 261 206 251 0 0 5 9 58 72 138 130 471 328 356 523 0 1 0 0 12 143
193 184 192 138 174 69 1 0 0 18 25 28 92 732 320 256 302 131 15 0 27 0 22 20 213 393 474 374 109 159 0 0 0 3 3
49 205 128 194 570 169 89 0 0 0 0 0 26 185 286 92 225 244 190 3 20
""".split()]

print("{")
print(",\n".join(json.dumps(name) + ": " + json.dumps(value) for name, value in published.items()))
print("}")
