package runstore
import ("testing";"path/filepath";"sync/atomic";"syscall")
func cpu() float64 { var r syscall.Rusage; syscall.Getrusage(0,&r); return float64(r.Utime.Nano()+r.Stime.Nano())/1e3 }
func prof(b *testing.B, w int, nosync bool) { s:=benchStore(b,Options{Dir:filepath.Join(benchDir(b),"s"),NoSync:nosync}); var f atomic.Int64; steps(b,s,w,2000,&f); b.ResetTimer(); c:=cpu(); d:=steps(b,s,w,b.N,&f); b.ReportMetric((cpu()-c)/float64(b.N),"cpu-us/step"); b.ReportMetric(float64(b.N)/d.Seconds(),"steps/s"); b.ReportMetric(float64(s.Commits())/float64(b.N),"syncs/step")}
func BenchmarkProf64NoSync(b *testing.B){ prof(b,64,true) }
func BenchmarkProf64(b *testing.B){ prof(b,64,false) }
func BenchmarkProf1NoSync(b *testing.B){ prof(b,1,true) }
func BenchmarkProf1(b *testing.B){ prof(b,1,false) }
